import { ConfigurationError } from '../values/errors.ts'
import {
  checkField,
  fieldsOf,
  isFunction,
  throwInvalidOption,
  describeValue,
  type Validator,
} from '../values/validators.ts'
import type { HookTrigger } from './hook-outcome.ts'

const triggers: { readonly [trigger in HookTrigger]: true } = {
  beforeExecution: true,
  beforeAgent: true,
  afterExecution: true,
  beforeStep: true,
  afterStep: true,
  beforeInference: true,
  afterInference: true,
  beforeToolUse: true,
  afterToolUse: true,
  onStop: true,
  beforeCompact: true,
  afterCompact: true,
  onError: true,
}

/** A hook with at least one trigger. */
export const isHook: Validator = (name, value) => {
  const hook = fieldsOf(value) ?? throwInvalidOption(name, 'a hook, such as a CallableHook', value)
  checkField(`${name}.handle`, hook, 'handle', isFunction)
  checkField(`${name}.triggers`, hook, 'triggers', checkTriggers)
  checkOnError(`${name}.onError`, hook['onError'], hook['triggers'])
}

/** @throws ConfigurationError for an unknown value, and if the hook has no result to withhold, so that the option would have no effect. */
export function checkOnError(name: string, value: unknown, on: unknown): void {
  if (value === undefined) return
  if (value !== 'withhold') throwInvalidOption(name, "'withhold', or nothing", value)
  if (!Array.isArray(on) || !on.includes('afterToolUse'))
    throw new ConfigurationError(`${name} withholds the result of a tool: the hook needs the trigger afterToolUse.`)
}

/** @throws ConfigurationError for an unknown trigger: the hook would never be called. */
export function checkTriggers(name: string, value: unknown): void {
  if (!Array.isArray(value)) throwInvalidOption(name, 'a list of triggers', value)
  for (const trigger of value) {
    if (typeof trigger === 'string' && Object.hasOwn(triggers, trigger)) continue
    const known = Object.keys(triggers).join(', ')
    throw new ConfigurationError(`There is no trigger ${describeValue(trigger)}. There are ${known}.`)
  }
}
