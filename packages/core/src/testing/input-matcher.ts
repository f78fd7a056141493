import { fieldsOf } from '../values/validators.ts'
import type { Json } from '../values/json.ts'

/**
 * A matcher for the input of a call: an object with fields that the input must have, or a predicate. Values are JSON,
 * regular expressions for strings, and asymmetric matchers such as `expect.any(Number)`.
 */
export type InputMatcher = { readonly [field: string]: unknown } | ((input: Json) => boolean)

/** Whether an input satisfies a matcher. */
export function fitsInput(input: Json, matcher: InputMatcher): boolean {
  // Plain JavaScript may return anything.
  return typeof matcher === 'function' && !hasMatch(matcher)
    ? (matcher(input) as unknown) === true
    : fits(input, matcher)
}

interface AsymmetricMatcher {
  asymmetricMatch(value: unknown): boolean
}

/** The protocol of Jest, which vitest implements, too. */
function hasMatch(matcher: unknown): matcher is AsymmetricMatcher {
  const mayBe = (typeof matcher === 'object' && matcher !== null) || typeof matcher === 'function'
  return mayBe && 'asymmetricMatch' in matcher && typeof matcher.asymmetricMatch === 'function'
}

function fits(value: unknown, matcher: unknown): boolean {
  if (hasMatch(matcher)) return matcher.asymmetricMatch(value)
  if (matcher instanceof RegExp) return typeof value === 'string' && value.search(matcher) !== -1
  if (Array.isArray(matcher))
    return (
      Array.isArray(value) &&
      value.length === matcher.length &&
      matcher.every((each, index) => fits(value[index], each))
    )
  const fields = fieldsOf(matcher)
  if (fields === undefined) return Object.is(value, matcher)
  const input = fieldsOf(value)
  if (input === undefined) return false
  // JSON has no undefined, so an undefined field must be absent.
  return Object.entries(fields).every(([name, each]) =>
    each === undefined ? !Object.hasOwn(input, name) : Object.hasOwn(input, name) && fits(input[name], each),
  )
}
