import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { ConfigurationError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { admission } from './admission.ts'
import { Answer } from './answer.ts'
import { answerTo, headersOfAll, lastAnswer, type Answered } from './answers.ts'
import { readPageFiles } from './page-files.ts'
import type { SessionSource } from '@halting/analysis/view'

/** What the inspector shows, and where it is asked. */
export interface InspectorOptions {
  /** The sessions. */
  readonly source: SessionSource
  /** Where page.js and page.css are. */
  readonly pageFolder: string
  /** 0, or none: any that is free. */
  readonly port?: number
  /** Stands in its address; a new one each time unless said otherwise. At least 22 letters, digits, `-` and `_`. */
  readonly token?: string
  /** Told of what should not have happened; what is asked for is answered all the same. */
  readonly onProblem?: (error: unknown) => void
}

/** An inspector that serves. */
export interface Inspector {
  /** The address of the page, with the token. */
  readonly url: string
  /** Ends all that is being answered, and listens no more. */
  close(): Promise<void>
}

/**
 * Serves a page over these sessions to this machine alone: at 127.0.0.1, to who knows the token in its address.
 * @throws ConfigurationError for a page that was not built, a port that is taken, and a token that can be guessed.
 */
export async function startInspector(options: InspectorOptions): Promise<Inspector> {
  const { source, pageFolder, port: asked = 0, token = newToken(), onProblem = () => undefined } = options
  if (!/^[\w-]{22,}$/.test(token))
    throw new ConfigurationError('The token of an inspector must have at least 22 letters, digits, - and _.')
  const answered: Answered = { source, page: await readPageFiles(pageFolder), onProblem }
  let port = asked
  const server = createServer((request, response) => {
    void serve(request, response, { port, token, answered })
  })
  // Whoever asks nothing is no reason to hold anything.
  server.headersTimeout = 10_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port: asked }, resolve)
  }).catch((error: unknown) => {
    throw new ConfigurationError(
      `The inspector cannot listen at port ${asked}: ${messageOf(error)}. Name another port, or 0 for any that is free.`,
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

/** 128 bits. */
function newToken(): string {
  return randomBytes(16).toString('base64url')
}

interface Serving {
  readonly port: number
  readonly token: string
  readonly answered: Answered
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { port, token, answered }: Serving,
): Promise<void> {
  // What comes with a request is of no use: it is read away, so that the connection can serve the next.
  request.resume()
  request.on('error', () => undefined)
  const answer = new Answer(response, request.method === 'HEAD', headersOfAll)
  const admitted = admission(request, port, token)
  if (admitted.kind === 'admitted') {
    await answerTo(admitted.name, admitted.query, answer, answered)
    return
  }
  const { status, error, allow } = admitted
  answer.fail(status, error, { ...(allow !== undefined && { allow }), ...lastAnswer })
}
