import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { TerminalError } from '@restatedev/restate-sdk'
import { maxIdLength, problemOfRequest, type RequestSizeLimit } from './check-request.ts'
import type { PushRequest } from './messages.ts'

/** Error for invalid input of a handler: status 400, with a sentence. */
export function badInput(because: string): TerminalError {
  return new TerminalError(because, { errorCode: 400 })
}

/** @throws TerminalError 400 */
export function checkRequest(input: unknown, size: RequestSizeLimit): PushRequest {
  const problem = problemOfRequest(input, size)
  if (problem !== undefined) throw badInput(problem)
  // It was checked.
  return input as PushRequest
}

/** Checks the fields of an input; a missing input is an object without fields. @throws TerminalError 400 */
export function checkFields(given: unknown, takes: readonly string[]): JsonObject {
  const input = given ?? {}
  if (!isJsonObject(input)) throw badInput(`Give an object with ${takes.join(', ')}.`)
  const other = Object.keys(input).find((field) => !takes.includes(field))
  if (other !== undefined) throw badInput(`Unknown field ${other.slice(0, 50)}. Give ${takes.join(', ')}.`)
  return input
}

/** Checks a number of records. @throws TerminalError 400 */
export function checkRecordCount(input: unknown): number {
  if (input === undefined) return 0
  if (typeof input === 'number' && Number.isSafeInteger(input) && input >= 0) return input
  throw badInput('Give the number of records that you have: 0 for all.')
}

/** Checks the id of a request. @throws TerminalError 400 */
export function checkId(input: unknown): string {
  if (typeof input === 'string' && input !== '' && input.length <= maxIdLength) return input
  throw badInput(`Give the id: a string of 1 to ${maxIdLength} characters.`)
}
