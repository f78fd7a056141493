import { isJsonObject } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { listOf } from './json-fields.ts'

// Counts as services tell them: numbers, nothing, or what is no count. The last is handed on: core judges it.

/** Not told. */
export function isAbsent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null
}

/** A number that can be added; not whether it is a count. */
function isNumber(value: Json | undefined): value is number {
  return typeof value === 'number'
}

/** Of a count that is told twice: the higher one. What is no number or below none outlasts both. */
export function highest(one: Json | undefined, other: Json | undefined): Json | undefined {
  if (isAbsent(one)) return other
  if (isAbsent(other)) return one
  if (!isNumber(one) || one < 0) return one
  if (!isNumber(other) || other < 0) return other
  return Math.max(one, other)
}

/** The first of these that is no number, or below none. */
export function noCountIn(values: readonly (Json | undefined)[]): Json | undefined {
  return values.find((value) => !isAbsent(value) && !(isNumber(value) && value >= 0 && value < Infinity))
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
