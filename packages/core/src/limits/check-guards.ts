import { ConfigurationError } from '../values/errors.ts'
import { throwInvalidOption, describeValue, type Validator } from '../values/validators.ts'
import { isGuard, type Guard } from './guard.ts'

const expectedGuards = 'a guard, such as stepLimit(10)'

const checkGuard: Validator = (name, value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throwInvalidOption(name, expectedGuards, value)
  if (!isGuard(value))
    throw new ConfigurationError(`${name} must be ${expectedGuards}, but it is an object without evaluate.`)
}

/** Accepts a guard or a list of guards. */
export const isGuards: Validator = (name, value) => {
  if (!Array.isArray(value)) return checkGuard(name, value)
  for (const [index, guard] of value.entries()) checkGuard(`${name}[${index}]`, guard)
}

/** @throws ConfigurationError when an argument of the combinator is not a guard. */
export function checkParts(combinator: string, guards: readonly Guard[]): void {
  for (const guard of guards) {
    if (typeof guard !== 'object' || guard === null || !isGuard(guard))
      throw new ConfigurationError(
        `${combinator}() must be given guards, such as stepLimit(10), but one is ${describeValue(guard)}.`,
      )
  }
}
