import { ConfigurationError } from './errors.ts'

// Validates stored data before it is used. An error names the path of the invalid part.

/** Validates a stored value; throws `InvalidValue` if it is invalid. `path` is its location, for the message. */
export type Check = (value: unknown, path: string) => void

class InvalidValue extends Error {}

/** Validates a stored value. @throws ConfigurationError with the path of the invalid part. */
export function checkStored(what: string, value: unknown, check: Check): void {
  const problem = storedProblemOf(value, check)
  if (problem !== undefined)
    throw new ConfigurationError(`The stored ${what} cannot be read: ${problem}. Give what toJSON wrote.`)
}

/** Where a value is invalid and why, in words; undefined when it is valid. */
export function storedProblemOf(value: unknown, check: Check): string | undefined {
  // Nearly every value is valid, so paths are built only for invalid ones.
  return problemAt(value, check, unneededPath) === undefined ? undefined : problemAt(value, check, '')
}

function problemAt(value: unknown, check: Check, path: string): string | undefined {
  try {
    check(value, path)
  } catch (error) {
    if (error instanceof InvalidValue) return error.message
    throw error
  }
  return undefined
}

/** Represents a path that is not needed: no path begins with this character. */
const unneededPath = '\u0000'

function fieldOf(path: string, name: string): string {
  return path === unneededPath ? unneededPath : path === '' ? name : `${path}.${name}`
}

function refuse(value: unknown, path: string, must: string): never {
  throw new InvalidValue(`${path === '' ? 'it' : path} must be ${must}, but it is ${kindOf(value)}`)
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'absent'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  const type = typeof value
  return type === 'string' ? 'a text' : type === 'object' ? 'an object' : `a ${type}`
}

export const isText: Check = (value, path) => {
  if (typeof value !== 'string') refuse(value, path, 'a text')
}

export const isNumber: Check = (value, path) => {
  if (typeof value !== 'number' || !Number.isFinite(value)) refuse(value, path, 'a number')
}

export const isBoolean: Check = (value, path) => {
  if (typeof value !== 'boolean') refuse(value, path, 'true or false')
}

/** Above this, sums of integers are not exact. */
const maxAmount = Number.MAX_SAFE_INTEGER

/** A number that is added to others. */
export const isAmount: Check = isFrom(0)

/** Milliseconds on a clock. They may be negative, since the clock may have started later. */
export const isMoment: Check = isFrom(-maxAmount)

/** A duration in milliseconds. Older versions measured it by a clock that may have been set back meanwhile. */
export const isDuration: Check = isFrom(-maxAmount)

function isFrom(min: number): Check {
  return (value, path) => {
    isNumber(value, path)
    if (Number(value) < min || Number(value) > maxAmount)
      throw new InvalidValue(`${path} must be from ${min} to ${maxAmount}, but it is ${String(value)}`)
  }
}

function asObject(value: unknown, path: string): { readonly [field: string]: unknown } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(value, path, 'an object')
  // The value is neither a primitive nor a list, so it has fields, of unknown types.
  return value as { readonly [field: string]: unknown }
}

/** An object with these fields; other fields are not checked. */
export function isObject(fields: { readonly [field: string]: Check } = {}): Check {
  const checks = Object.entries(fields)
  return (value, path) => {
    const object = asObject(value, path)
    for (const [name, check] of checks) check(object[name], fieldOf(path, name))
  }
}

/** An object whose fields all pass `check`. */
export function isMapOf(check: Check): Check {
  return (value, path) => {
    for (const [name, part] of Object.entries(asObject(value, path)))
      check(part, path === unneededPath ? unneededPath : `${path}[${JSON.stringify(name)}]`)
  }
}

export function isListOf(check: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) refuse(value, path, 'a list')
    for (let index = 0; index < value.length; index++)
      check(value[index], path === unneededPath ? unneededPath : `${path}[${index}]`)
  }
}

/** True for a list of strings. */
export function isStrings(value: unknown): value is readonly string[] {
  return storedProblemOf(value, isListOf(isText)) === undefined
}

/** A field that older versions left out. */
export function optional(check: Check): Check {
  return (value, path) => {
    if (value !== undefined) check(value, path)
  }
}

export function orNull(check: Check): Check {
  return (value, path) => {
    if (value !== null) check(value, path)
  }
}

export function isExactly(text: string): Check {
  return (value, path) => {
    if (value !== text) refuseText(value, path, JSON.stringify(text))
  }
}

/** One of these names; `must` describes them. */
export function isNamed(names: readonly string[], must: string): Check {
  const known = new Set<unknown>(names)
  return (value, path) => {
    if (!known.has(value)) refuseText(value, path, must)
  }
}

/** An object of one of several kinds, distinguished by a field. */
export function isOneOf(field: string, kinds: { readonly [kind: string]: Check }): Check {
  return (value, path) => {
    const kind = asObject(value, path)[field]
    const check = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
    if (check === undefined) refuseText(kind, `${path}.${field}`, `one of ${Object.keys(kinds).join(', ')}`)
    else check(value, path)
  }
}

/** An object whose kind, if known, decides its check; an object of any other kind passes. */
export function isKnownOrAny(field: string, kinds: { readonly [kind: string]: Check }): Check {
  return (value, path) => {
    const kind = asObject(value, path)[field]
    isText(kind, fieldOf(path, field))
    if (typeof kind === 'string' && Object.hasOwn(kinds, kind)) kinds[kind]?.(value, path)
  }
}

function refuseText(value: unknown, path: string, must: string): never {
  if (typeof value === 'string') throw new InvalidValue(`${path} must be ${must}, but it is ${JSON.stringify(value)}`)
  return refuse(value, path, must)
}

/** A text, or a list that passes `check`. */
export function isTextOr(check: Check, must: string): Check {
  return (value, path) => {
    if (typeof value === 'string') return
    if (!Array.isArray(value)) refuse(value, path, must)
    check(value, path)
  }
}
