import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { admit } from './admission.ts'
import { ResponseWriter } from './response-writer.ts'
import { answerTo, commonHeaders, closeConnection, type ServerContext } from './routes.ts'
import { readPageFiles } from './page-files.ts'
import type { SessionSource } from '@halting/analysis/view'

/** What the inspector shows, and where it listens. */
export interface InspectorOptions {
  /** The sessions. */
  readonly source: SessionSource
  /** Folder of page.js and page.css. */
  readonly pageFolder: string
  /** Port; 0 or absent for any free port. */
  readonly port?: number
  /** Secret part of the address, at least 22 letters, digits, `-` and `_`. Default: a new one each time. */
  readonly token?: string
  /** Receives unexpected errors. Requests are still answered. */
  readonly onProblem?: (error: unknown) => void
}

/** A running inspector. */
export interface Inspector {
  /** Address of the page, including the token. */
  readonly url: string
  /** Aborts all responses, and stops listening. */
  close(): Promise<void>
}

/**
 * Serves a page over these sessions on this machine only: at 127.0.0.1, to clients that know the token in its address.
 * @throws ConfigurationError for a page that was not built, a port in use, and a token that could be guessed.
 */
export async function startInspector(options: InspectorOptions): Promise<Inspector> {
  const { source, pageFolder, port: requestedPort = 0, token = newToken(), onProblem = () => undefined } = options
  if (!/^[\w-]{22,}$/.test(token))
    throw new ConfigurationError('The token of an inspector must have at least 22 letters, digits, - and _.')
  const answered: ServerContext = { source, page: await readPageFiles(pageFolder), onProblem }
  let port = requestedPort
  const server = createServer((request, response) => {
    void serve(request, response, { port, token, answered })
  })
  // A client that sends no request must not occupy a connection.
  server.headersTimeout = 10_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port: requestedPort }, resolve)
  }).catch((error: unknown) => {
    throw new ConfigurationError(
      `The inspector cannot listen on port ${requestedPort}: ${messageOf(error)}. Choose another port, or 0 for any free port.`,
    )
  })
  const address = server.address()
  if (typeof address === 'object' && address !== null) ({ port } = address)
  return {
    url: `http://127.0.0.1:${port}/${token}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** 128 random bits. */
function newToken(): string {
  return randomBytes(16).toString('base64url')
}

interface Serving {
  readonly port: number
  readonly token: string
  readonly answered: ServerContext
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { port, token, answered }: Serving,
): Promise<void> {
  // The body of a request is ignored, but must be read so that the connection can be reused.
  request.resume()
  request.on('error', () => undefined)
  const answer = new ResponseWriter(response, request.method === 'HEAD', commonHeaders)
  const admitted = admit(request, port, token)
  if (admitted.kind === 'admitted') {
    await answerTo(admitted.name, admitted.query, answer, answered)
    return
  }
  const { status, error, allow } = admitted
  answer.fail(status, error, { ...(allow !== undefined && { allow }), ...closeConnection })
}
