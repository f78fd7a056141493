import { fieldsOf } from '../values/given.ts'
import type { Json } from '../values/json.ts'

/**
 * What the input of a call must be like: an object that it has at least the fields of, or a function that says so. Values are JSON, regular expressions for
 * texts, and asymmetric matchers such as `expect.any(Number)`.
 */
export type InputMatcher = { readonly [field: string]: unknown } | ((input: Json) => boolean)

/** Whether an input is what a matcher asks for. */
export function fitsInput(input: Json, matcher: InputMatcher): boolean {
  // Plain JavaScript may give anything back.
  return typeof matcher === 'function' && !hasMatch(matcher)
    ? (matcher(input) as unknown) === true
    : fits(input, matcher)
}

interface AsymmetricMatcher {
  asymmetricMatch(value: unknown): boolean
}

/** The protocol of Jest, which vitest has too. */
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
  const given = fieldsOf(value)
  if (given === undefined) return false
  // A field that is to be undefined is one that is not there: JSON has none.
  return Object.entries(fields).every(([name, each]) =>
    each === undefined ? !Object.hasOwn(given, name) : Object.hasOwn(given, name) && fits(given[name], each),
  )
}
