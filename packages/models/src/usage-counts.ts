import { isJsonObject } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { listOf } from './json-fields.ts'

// Counts as services tell them: numbers, nothing, or what is no count. The last is handed on: core judges it.

/** Not told. */
export function isAbsent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null
}

/** A whole number of at least 0; how large one may be is for core to say. */
function isCount(value: Json | undefined): value is number {
  return Number.isInteger(value) && Number(value) >= 0
}

function isNumber(value: Json | undefined): value is number {
  return typeof value === 'number'
}

/** Of a count that is told twice: the higher one. What is no count outlasts both. */
export function highest(one: Json | undefined, other: Json | undefined): Json | undefined {
  if (isAbsent(one)) return other
  if (isAbsent(other)) return one
  if (!isCount(one)) return one
  if (!isCount(other)) return other
  return Math.max(one, other)
}

/** The first of these that is told and is no count. */
export function noCountIn(values: readonly (Json | undefined)[]): Json | undefined {
  return values.find((value) => !isAbsent(value) && !isCount(value))
}

/** The sum of a count over a list; what is no number adds nothing. */
export function totalOf(list: Json | undefined, name: string): number {
  return listOf(list).reduce<number>((sum, entry) => {
    const value = isJsonObject(entry) ? entry[name] : 0
    return isNumber(value) ? sum + value : sum
  }, 0)
}

/** The number that was told; 0 when there is none. */
export function numberOf(value: Json | undefined): number {
  return isNumber(value) ? value : 0
}
