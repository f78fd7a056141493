import { isJsonObject, type Json, type JsonObject } from '../values/json.ts'
import {
  aboutCharacter,
  aboutPart,
  joined,
  mostProblems,
  none,
  spend,
  wrong,
  type Check,
  type PartOf,
  type Problem,
} from './schema-check.ts'
import { isDuplicate, isMissing, outOfRange, unknownField, wrongLength } from './schema-texts.ts'

// Checks of keywords that apply to one type of value. Values of other types pass: the `type` keyword rejects those.

export function numberCheck(schema: JsonObject): Check | undefined {
  const tests = [
    test(schema['minimum'], 'minimum', (value, limit) => value >= limit),
    test(schema['maximum'], 'maximum', (value, limit) => value <= limit),
    test(schema['exclusiveMinimum'], 'exclusiveMinimum', (value, limit) => value > limit),
    test(schema['exclusiveMaximum'], 'exclusiveMaximum', (value, limit) => value < limit),
    test(schema['multipleOf'], 'multipleOf', isMultiple),
  ].filter((one) => one !== undefined)
  if (tests.length === 0) return undefined
  return (value) => {
    if (typeof value !== 'number') return none
    for (const { holds, problem } of tests) if (!holds(value)) return problem
    return none
  }
}

function test(
  limit: Json | undefined,
  bound: Parameters<typeof outOfRange>[1],
  holds: (value: number, limit: number) => boolean,
) {
  if (typeof limit !== 'number') return undefined
  return { holds: (value: number) => holds(value, limit), problem: wrong(outOfRange(limit, bound)) }
}

/** Compares fractions with a tolerance, so that 0.3 is a multiple of 0.1. In doubt the value is a multiple. */
function isMultiple(value: number, divisor: number): boolean {
  if (!(divisor > 0)) return true
  if (Number.isInteger(value) && Number.isInteger(divisor)) return value % divisor === 0
  const quotient = value / divisor
  if (!Number.isFinite(quotient)) return true
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient))
}

export function stringCheck(schema: JsonObject): Check | undefined {
  const { minLength, maxLength } = schema
  if (typeof minLength !== 'number' && typeof maxLength !== 'number') return undefined
  const [least, most] = [atLeast(minLength), atMost(maxLength)]
  const short = wrong(wrongLength(least, 'least', 'character'))
  const long = wrong(wrongLength(most, 'most', 'character'))
  return (value, walk) => {
    if (typeof value !== 'string') return none
    const isShorter = value.length < least
    const mayBeShorter = value.length < 2 * least
    const mayBeLonger = value.length > most
    if (isShorter || (!mayBeShorter && !mayBeLonger)) return isShorter ? short : none
    // Counted in code points if it matters: one may have two UTF-16 units.
    if (!spend(walk, Math.min(value.length, mayBeShorter ? Infinity : most) * aboutCharacter)) return none
    if (mayBeShorter && !hasMoreThan(value, Math.ceil(least) - 1)) return short
    return mayBeLonger && hasMoreThan(value, most) ? long : none
  }
}

function hasMoreThan(text: string, limit: number): boolean {
  let characters = 0
  for (const _ of text) if (++characters > limit) return true
  return characters > limit
}

export function listCheck(schema: JsonObject, partOf: PartOf): Check | undefined {
  const { minItems, maxItems, items, prefixItems } = schema
  const sizes = sizeCheck(minItems, maxItems)
  const mustDiffer = schema['uniqueItems'] === true
  // Older drafts define the first elements in `items` and the others in `additionalItems`.
  const first = (Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : []).map(partOf)
  const others = partSchema(Array.isArray(items) ? schema['additionalItems'] : items, partOf)
  if (sizes === undefined && !mustDiffer && first.length === 0 && others === undefined) return undefined
  return (value, walk) => {
    if (!Array.isArray(value)) return none
    let problems = sizes === undefined ? none : sizes(value.length)
    if (mustDiffer && spend(walk, value.length * aboutPart)) problems = joined(problems, repetition(value))
    for (let index = 0; index < value.length; index++) {
      const check = first[index] ?? others
      if (check === undefined) break
      const inside = check(value[index], walk)
      if (inside === none) continue
      problems = joined(problems, inside, `[${index}]`)
      if (problems.length > mostProblems) break
    }
    return problems
  }
}

function sizeCheck(minItems: Json | undefined, maxItems: Json | undefined) {
  if (typeof minItems !== 'number' && typeof maxItems !== 'number') return undefined
  const [least, most] = [atLeast(minItems), atMost(maxItems)]
  const short = wrong(wrongLength(least, 'least', 'item'))
  const long = wrong(wrongLength(most, 'most', 'item'))
  return (length: number) => (length < least ? short : length > most ? long : none)
}

/** Only compares values of simple types: strings, numbers, booleans and null. */
function repetition(items: readonly unknown[]): readonly Problem[] {
  const seen = new Set<unknown>()
  for (const [index, item] of items.entries()) {
    if (typeof item === 'object' && item !== null) continue
    if (seen.has(item)) return [{ path: `[${index}]`, says: isDuplicate }]
    seen.add(item)
  }
  return none
}

export function objectCheck(schema: JsonObject, partOf: PartOf): Check | undefined {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  const required = (Array.isArray(schema['required']) ? schema['required'] : []).filter(
    (name) => typeof name === 'string',
  )
  const fields = new Map<string, Check>()
  for (const [name, part] of Object.entries(properties)) if (part !== undefined) fields.set(name, partOf(part))
  const others = otherFields(schema, [...fields.keys()], partOf)
  if (required.length === 0 && fields.size === 0 && others === undefined) return undefined
  return (value, walk) => {
    if (!isJsonObject(value)) return none
    const names = Object.keys(value)
    if (!spend(walk, (names.length + required.length) * aboutPart)) return none
    let problems = none
    for (const name of required) {
      if (problems.length > mostProblems) return problems
      if (value[name] === undefined || !Object.hasOwn(value, name)) problems = joined(problems, missing, `.${name}`)
    }
    for (const name of names) {
      const part = value[name]
      const check = fields.get(name) ?? others
      if (part === undefined || check === undefined) continue
      const inside = check(part, walk)
      if (inside === none) continue
      problems = joined(problems, inside, `.${name}`)
      if (problems.length > mostProblems) break
    }
    return problems
  }
}

const missing = wrong(isMissing)

/** Checks `additionalProperties`. Names that a pattern may allow are accepted: patterns are not evaluated. */
function otherFields(schema: JsonObject, names: readonly string[], partOf: PartOf): Check | undefined {
  if (isJsonObject(schema['patternProperties'])) return undefined
  const { additionalProperties } = schema
  if (additionalProperties !== false) return partSchema(additionalProperties, partOf)
  const problem = wrong(unknownField(names))
  return () => problem
}

/** Undefined if a keyword is absent or is not a schema. */
function partSchema(schema: Json | undefined, partOf: PartOf): Check | undefined {
  return isJsonObject(schema) || schema === false ? partOf(schema) : undefined
}

function atLeast(limit: Json | undefined): number {
  return typeof limit === 'number' ? limit : -Infinity
}

function atMost(limit: Json | undefined): number {
  return typeof limit === 'number' ? limit : Infinity
}
