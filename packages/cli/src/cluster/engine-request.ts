import { messageOf } from '@halting/core/adapters'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'

const answerMs = 30_000

export interface EngineRequest {
  readonly url: URL
  readonly headers?: { readonly [name: string]: string }
  readonly body?: unknown
}

/** Asks something of the engine that is no session. @throws UsageError that says what is the matter, and where. */
export async function askEngine({ url, headers, body }: EngineRequest): Promise<unknown> {
  let response
  let text
  try {
    response = await fetch(url, {
      method: 'POST',
      signal: AbortSignal.timeout(answerMs),
      headers: {
        ...headers,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    text = await response.text()
  } catch (error) {
    // `fetch` hides the reason behind its error.
    const why = messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error)
    throw new UsageError(`The cluster at ${url.origin} does not answer: ${why}.`)
  }
  if (response.ok) return text === '' ? undefined : JSON.parse(text)
  const hint = response.status === 404 ? ' No worker is registered there: halting serve --register does that.' : ''
  throw new UsageError(`The cluster at ${url.origin} says ${response.status}: ${oneLine(text, 300)}${hint}`)
}
