// Problems of a tool input or a structured answer, as one clause for each position: `path must be string, not object`.
import { countOf } from '../values/text.ts'

export const wholeInput = 'the input'
export const tooLarge = 'the input is too large to be checked'
export const tooDeep = 'the input is nested too deeply to be checked'
export const moreProblems = 'and more'
export const moreCount = (count: number): string => `and ${count} more`
export const doesNotMatch = 'the input does not match the schema'

export const wrongForm = 'matches none of the allowed forms'
export const forbiddenForm = 'matches a form that is not allowed'
export const forbidden = 'is not allowed'
export const isMissing = 'is missing'
export const isDuplicate = 'is a duplicate'
/** @param received the type of the value, appended by the caller */
export const wrongType = (types: readonly string[], received: string): string =>
  `must be ${types.join(' or ')}, not ${received}`
export const notOneOf = (values: readonly string[]): string => `must be one of ${values.join(', ')}`
export const notTheValue = (value: string): string => `must be ${value}`
export const outOfRange = (
  limit: number,
  bound: 'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum' | 'multipleOf',
): string => `must be ${bounds[bound]} ${limit}`

const bounds = {
  minimum: 'at least',
  maximum: 'at most',
  exclusiveMinimum: 'greater than',
  exclusiveMaximum: 'less than',
  multipleOf: 'a multiple of',
} as const

export const wrongLength = (limit: number, bound: 'least' | 'most', unit: 'character' | 'item'): string =>
  `must have at ${bound} ${countOf(limit, unit)}`

export function unknownField(known: readonly string[]): string {
  return `is an unknown field; ${known.length === 0 ? 'there are no fields' : `the fields are ${known.join(', ')}`}`
}

// Answers that must match a schema.

export const outputInstruction = (schema: string): string =>
  `When you are done, answer with a single JSON value and nothing else: no other text, no code fence. It must match this JSON Schema:\n${schema}`
export const outputNotJson = (problem: string): string => `it is not JSON (${problem})`
export const outputTooDeep = 'it is nested too deeply to be checked'

// Schemas that return a promise.

/** For a schema that validates asynchronously. */
export const returnedPromise: string =
  'returned a promise, which is not awaited: it validates asynchronously, or a transformation of it threw (zod returns a promise then)'
export const schemaReturnedPromise: string = `its schema ${returnedPromise}`
export const checkFailed = (message: string): string => `its check failed: ${message}`
