import { isJsonObject } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { listOf } from './json-fields.ts'

// Counts from services: numbers, nothing, or invalid values. Invalid values are passed on, because core validates them.

/** Whether a count is missing. */
export function isAbsent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null
}

/** Whether a value is a nonnegative integer; core decides how large one may be. */
function isCount(value: Json | undefined): value is number {
  return Number.isInteger(value) && Number(value) >= 0
}

function isNumber(value: Json | undefined): value is number {
  return typeof value === 'number'
}

/** Returns the higher of two counts. An invalid value takes precedence. */
export function highest(one: Json | undefined, other: Json | undefined): Json | undefined {
  if (isAbsent(one)) return other
  if (isAbsent(other)) return one
  if (!isCount(one)) return one
  if (!isCount(other)) return other
  return Math.max(one, other)
}

/** Returns the first invalid count that is present. */
export function noCountIn(values: readonly (Json | undefined)[]): Json | undefined {
  return values.find((value) => !isAbsent(value) && !isCount(value))
}

/** Returns the sum of a count over a list; values that are not numbers add nothing. */
export function totalOf(list: Json | undefined, name: string): number {
  return listOf(list).reduce<number>((sum, entry) => {
    const value = isJsonObject(entry) ? entry[name] : 0
    return isNumber(value) ? sum + value : sum
  }, 0)
}

/** Returns the count; 0 if it is missing. */
export function numberOf(value: Json | undefined): number {
  return isNumber(value) ? value : 0
}
