import { ConfigurationError } from './errors.ts'

// Validates options of a program before anything starts, since plain JavaScript has no compiler. An error names the option.

/** Validates an option. @throws ConfigurationError for an invalid value; `name` is the option's name in the message. */
export type Validator = (name: string, value: unknown) => void

/** Rejects a value. @throws ConfigurationError that says what the value must be, and what it is. */
export function throwInvalidOption(name: string, must: string, value: unknown, advice = ''): never {
  throw new ConfigurationError(
    `${name} must be ${must}, but it is ${describeValue(value)}.${advice === '' ? '' : ` ${advice}`}`,
  )
}

/** Describes a value in a few words: a short value itself, otherwise its type. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > 60 ? 'a long text' : JSON.stringify(value)
    case 'function':
      return 'a function'
    case 'symbol':
      return 'a symbol'
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value) ? 'a list' : 'an object'
    default:
      return String(value)
  }
}

/** Names in a sentence: `a, b and c`. */
export function listOf(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

const ofType =
  (type: 'string' | 'number' | 'boolean' | 'function', must: string): Validator =>
  (name, value) => {
    if (typeof value !== type)
      throwInvalidOption(name, must, value, value === null ? 'Leave it out for the default.' : '')
  }

export const isText: Validator = ofType('string', 'a text')
/** Any number; its range is checked where the option is used. */
export const isNumber: Validator = ofType('number', 'a number')
export const isYesOrNo: Validator = ofType('boolean', 'true or false')
export const isFunction: Validator = ofType('function', 'a function')

export const isName: Validator = (name, value) => {
  if (typeof value !== 'string' || value === '') throwInvalidOption(name, 'a text that is not empty', value)
}

export const isPositive: Validator = (name, value) => {
  if (!(typeof value === 'number' && value > 0)) throwInvalidOption(name, 'a number above 0', value)
}

export const isNumberOrNull: Validator = (name, value) => {
  if (value !== null && typeof value !== 'number') throwInvalidOption(name, 'a number or null', value)
}

/** A prompt: a text or a list of blocks. */
export const isPrompt: Validator = (name, value) => {
  if (typeof value !== 'string' && !Array.isArray(value)) throwInvalidOption(name, 'a text or a list of blocks', value)
}

/** Accepts undefined too. */
export function optional(check: Validator): Validator {
  return (name, value) => {
    if (value !== undefined) check(name, value)
  }
}

/** One of these texts. */
export function isEither(...texts: readonly [string, string, ...string[]]): Validator {
  const quoted = texts.map((text) => `'${text}'`)
  const must = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
  return (name, value) => {
    if (!texts.some((text) => text === value)) throwInvalidOption(name, must, value)
  }
}

/** An object with unknown fields. */
export type Fields = { readonly [field: string]: unknown }

/** The value as an object with unknown fields; undefined for primitives and lists. */
export function fieldsOf(value: unknown): Fields | undefined {
  const isFields = typeof value === 'object' && value !== null && !Array.isArray(value)
  // The value is neither a primitive nor a list, so it has fields, of unknown types.
  return isFields ? (value as Fields) : undefined
}

/** Validates one field. If a getter throws, the error is not reported here: the run has an ending for it. */
export function checkField(name: string, object: Fields, field: string, check: Validator): void {
  let value: unknown
  try {
    value = object[field]
  } catch {
    return
  }
  check(name, value)
}

/** An object with these fields; other fields are not checked. */
export function isObject(must: string, fields: { readonly [field: string]: Validator } = {}): Validator {
  const checks = Object.entries(fields)
  return (name, value) => {
    const object = fieldsOf(value) ?? throwInvalidOption(name, must, value)
    for (const [field, check] of checks) checkField(`${name}.${field}`, object, field, check)
  }
}

/** A list whose items pass `check`. */
export function isListOf(check: Validator): Validator {
  return (name, value) => {
    if (!Array.isArray(value)) throwInvalidOption(name, 'a list', value)
    for (const [index, part] of value.entries()) check(`${name}[${index}]`, part)
  }
}
