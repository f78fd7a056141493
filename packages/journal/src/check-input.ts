import { ConfigurationError } from '@halting/core'

// Values are checked at run time: JavaScript programs may pass anything, and it would be stored.

/** Checks that a value is a text. @throws ConfigurationError for an empty text, and for any other value. */
export function checkText(name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '')
    throw new ConfigurationError(`${name} must be a text that is not empty, but it is ${describe(value)}.`)
}

/** Checks that a value is an object. @throws ConfigurationError for any other value; `such` is an example. */
export function checkObject(name: string, value: unknown, such: string): void {
  if (typeof value !== 'object' || value === null)
    throw new ConfigurationError(`${name} must be given an object, such as ${such}, but it is ${describe(value)}.`)
}

/** @throws ConfigurationError if the value is not a function. */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function')
    throw new ConfigurationError(`${name} must be a function, but it is ${describe(value)}.`)
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60))
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
