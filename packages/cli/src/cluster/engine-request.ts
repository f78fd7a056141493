import { messageOf } from '@halting/core/adapters'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'

const usualPatienceMs = 30_000

export interface EngineRequest {
  /** Of the engine; it may have a path, that of a proxy before it. */
  readonly base: string
  readonly path: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: unknown
  /** So long it may take; 30 s. */
  readonly patienceMs?: number
  /** Default: POST. */
  readonly method?: 'POST' | 'PATCH'
}

/** Asks something of the engine that is no session. @throws UsageError that says what is the matter, and where. */
export async function askEngine({
  base,
  path,
  headers,
  body,
  method = 'POST',
  patienceMs = usualPatienceMs,
}: EngineRequest): Promise<unknown> {
  const url = new URL(base.replace(/\/+$/, '') + path)
  let response
  let text
  try {
    response = await fetch(url, {
      method,
      // What it is asked is for it alone.
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
      headers: {
        ...headers,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    text = await boundedText(response)
  } catch (error) {
    // `fetch` hides the reason behind its error.
    const why = messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error)
    throw new UsageError(`The cluster at ${url.origin} does not answer: ${oneLine(why, 300)}.`)
  }
  if (response.ok) return text === '' ? undefined : valueOf(text, url)
  throw new UsageError(
    `The cluster at ${url.origin} answered with status ${response.status}: ${oneLine(text, 300)}${hintOf(response.status, text)}`,
  )
}

/** More than an engine has to tell. */
const mostBytes = 256 * 1_024 * 1_024

async function boundedText({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  // Leaving the loop ends the answer.
  for await (const piece of body ?? []) {
    size += piece.length
    if (size > mostBytes) throw new Error(`its answer is larger than ${mostBytes / 1_048_576} MiB`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function valueOf(text: string, url: URL): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`The cluster at ${url.origin} returned invalid JSON: ${oneLine(text, 100)}`)
  }
}

function hintOf(status: number, text: string): string {
  if (status === 404) return ' No worker is registered there. Use halting serve --register.'
  // So answers the port for requests where its administration is asked.
  return text.includes('"bad path: /query"')
    ? ' That is the address for requests. Set --admin to the admin address, such as http://127.0.0.1:9070.'
    : ''
}
