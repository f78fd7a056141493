import { anySignal } from '@halting/core/adapters'
import { below } from './below.ts'
import { engineClock } from './engine-clock.ts'

const usualAnswerMs = 5_000

export interface AdminRequest {
  readonly path: string
  readonly method?: 'GET' | 'POST' | 'PATCH'
  readonly body?: object
  readonly signal?: AbortSignal | undefined
  /** So long an answer is waited for; 5 s. */
  readonly answerMs?: number
}

/** Asks the administration of the engine. Gives what it answers, as JSON. @throws Error with its status and words for what it refuses. */
export async function askAdmin(
  admin: string,
  { path, method = 'GET', body, signal, answerMs = usualAnswerMs }: AdminRequest,
): Promise<unknown> {
  const timeout = AbortSignal.timeout(answerMs)
  const onDate = engineClock.ask()
  const response = await fetch(below(admin, path), {
    method,
    signal: signal === undefined ? timeout : anySignal([signal, timeout]),
    headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  onDate(response.headers.get('date'))
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 500)}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** Asks in the engine's own query language. */
export async function rowsOf<T>(admin: string, query: string): Promise<readonly T[]> {
  // Rows of the engine's own.
  const { rows } = (await askAdmin(admin, { path: '/query', method: 'POST', body: { query } })) as {
    readonly rows: readonly T[]
  }
  return rows
}
