import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { TerminalError } from '@restatedev/restate-sdk'
import { longestId, problemOfRequest, type RequestSize } from './check-request.ts'
import type { PushRequest } from './messages.ts'

/** What somebody sent to a handler is wrong: the answer is 400, with a sentence. */
export function badInput(because: string): TerminalError {
  return new TerminalError(because, { errorCode: 400 })
}

/** @throws TerminalError 400 */
export function checkedRequest(given: unknown, size: RequestSize): PushRequest {
  const problem = problemOfRequest(given, size)
  if (problem !== undefined) throw badInput(problem)
  // It was looked at.
  return given as PushRequest
}

/** What a handler was sent: an object; nothing is one without fields. @throws TerminalError 400 */
export function checkedInput(given: unknown, takes: readonly string[]): JsonObject {
  const input = given ?? {}
  if (!isJsonObject(input)) throw badInput(`Give an object with ${takes.join(', ')}.`)
  const other = Object.keys(input).find((field) => !takes.includes(field))
  if (other !== undefined) throw badInput(`There is no ${other.slice(0, 50)} here. Give ${takes.join(', ')}.`)
  return input
}

/** A number of records. @throws TerminalError 400 */
export function checkedNumber(given: unknown): number {
  if (given === undefined) return 0
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return given
  throw badInput('Give the number of records that you have: 0 for all.')
}

/** The name of a request. @throws TerminalError 400 */
export function checkedId(given: unknown): string {
  if (typeof given === 'string' && given !== '' && given.length <= longestId) return given
  throw badInput(`Give the id: a text of 1 to ${longestId} characters.`)
}
