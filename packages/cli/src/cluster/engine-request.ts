import { isJsonObject, messageOf } from '@halting/core/adapters'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'
import { engineHint } from './engine-hint.ts'

const defaultTimeoutMs = 30_000

/** The workers refuse calls with this token, or without a token. */
export class TokenRefusedError extends UsageError {}

export interface EngineRequest {
  /** The address of the engine; it can contain the path of a proxy in front of it. */
  readonly base: string
  readonly path: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: unknown
  /** Default: 30 s. */
  readonly timeoutMs?: number
  /** Default: POST. */
  readonly method?: 'POST' | 'PATCH'
}

/** Sends a request to the engine or to an object other than a session. @throws UsageError that names the problem and the address */
export async function requestEngine({
  base,
  path,
  headers,
  body,
  method = 'POST',
  timeoutMs = defaultTimeoutMs,
}: EngineRequest): Promise<unknown> {
  const url = new URL(base.replace(/\/+$/, '') + path)
  let response
  let text
  try {
    response = await fetch(url, {
      method,
      // The request must not be forwarded to another host.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        ...headers,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    text = await readBoundedText(response, maxBytes)
  } catch (error) {
    throw new UsageError(`The cluster at ${url.origin} does not answer: ${connectionProblem(error)}.`)
  }
  if (response.ok) return text === '' ? undefined : parseJson(text, url)
  const { status } = response
  // A worker has sent a message for the user.
  const sentence = errorMessage(text)
  if ((status === 401 || status === 403) && sentence !== undefined) throw new TokenRefusedError(oneLine(sentence, 300))
  throw new UsageError(
    `The cluster at ${url.origin} answered with status ${status}: ${oneLine(text.trim(), 300)}${errorHint(status, text)}`,
  )
}

/** The message in an error of the engine or of a handler. */
function errorMessage(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) && typeof body['message'] === 'string' ? body['message'] : undefined
  } catch {
    return undefined
  }
}

/** The cause of a failed `fetch`, whose own message does not name it. */
export function connectionProblem(error: unknown): string {
  return oneLine(messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error), 300)
}

/** Maximum size of a response, which is larger than any answer of an engine. */
const maxBytes = 256 * 1_024 * 1_024

/** Reads the body of a response. @throws Error if it is larger than `maxSize` bytes */
export async function readBoundedText({ body }: Response, maxSize: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  // Leaving the loop early closes the connection.
  for await (const piece of body ?? []) {
    size += piece.length
    if (size > maxSize) throw new Error(`its answer is larger than ${maxSize / 1_048_576} MiB`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function parseJson(text: string, url: URL): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`The cluster at ${url.origin} returned invalid JSON: ${oneLine(text, 100)}`)
  }
}

function errorHint(status: number, text: string): string {
  // The request port answers in JSON; the engine's other ports do not.
  if ((status === 404 || status === 405) && errorMessage(text) === undefined) return ` ${engineHint}`
  if (status === 404) return ' No worker is registered there. Use halting serve --register.'
  // The request port gives this answer to an admin request.
  return text.includes('"bad path: /query"')
    ? ' That is the address for requests. Set --admin to the admin address, such as http://127.0.0.1:9070.'
    : ''
}
