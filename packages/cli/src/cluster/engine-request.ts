import { isJsonObject, messageOf } from '@halting/core/adapters'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'
import { engineHint } from './engine-hint.ts'

const defaultTimeoutMs = 30_000

/** The workers refuse calls with this token, or without one. */
export class TokenRefusedError extends UsageError {}

export interface EngineRequest {
  /** Of the engine; it may have a path, that of a proxy before it. */
  readonly base: string
  readonly path: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: unknown
  /** So long it may take; 30 s. */
  readonly timeoutMs?: number
  /** Default: POST. */
  readonly method?: 'POST' | 'PATCH'
}

/** Asks something of the engine that is no session. @throws UsageError that says what is the matter, and where. */
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
      // What it is asked is for it alone.
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
  // A worker has put it in words.
  const sentence = errorMessage(text)
  if ((status === 401 || status === 403) && sentence !== undefined) throw new TokenRefusedError(oneLine(sentence, 300))
  throw new UsageError(
    `The cluster at ${url.origin} answered with status ${status}: ${oneLine(text.trim(), 300)}${errorHint(status, text)}`,
  )
}

/** What the engine, or a handler, says. */
function errorMessage(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) && typeof body['message'] === 'string' ? body['message'] : undefined
  } catch {
    return undefined
  }
}

/** `fetch` hides the reason behind its error. */
export function connectionProblem(error: unknown): string {
  return oneLine(messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error), 300)
}

/** More than an engine has to tell. */
const maxBytes = 256 * 1_024 * 1_024

/** The text of an answer. @throws Error for one that is larger than so many bytes. */
export async function readBoundedText({ body }: Response, maxSize: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  // Leaving the loop ends the answer.
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
  // The engine answers in JSON, the ports beside that for requests do not.
  if ((status === 404 || status === 405) && errorMessage(text) === undefined) return ` ${engineHint}`
  if (status === 404) return ' No worker is registered there. Use halting serve --register.'
  // So answers the port for requests where its administration is asked.
  return text.includes('"bad path: /query"')
    ? ' That is the address for requests. Set --admin to the admin address, such as http://127.0.0.1:9070.'
    : ''
}
