import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'
import { readBoundedText, connectionProblem } from './engine-request.ts'

/** Maximum size of a response, which is larger than any answer that is read here. */
const maxBytes = 16 * 1_024 * 1_024

/**
 * Fetches JSON from the engine or from a worker; undefined if the answer is not JSON.
 * @throws UsageError if it does not answer, or answers with an error
 */
export async function getJson(base: string, path: string, timeoutMs: number): Promise<unknown> {
  const url = new URL(base.replace(/\/+$/, '') + path)
  const { status, text } = await fetchText(url, timeoutMs)
  if (status < 200 || status > 299)
    throw new UsageError(`${url.href} answered with status ${status}: ${oneLine(text, 300)}`)
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function fetchText(url: URL, timeoutMs: number): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    return { status: response.status, text: await readBoundedText(response, maxBytes) }
  } catch (error) {
    throw new UsageError(`${url.origin} does not answer: ${connectionProblem(error)}.`)
  }
}
