import { isJsonObject, type Json, type JsonObject } from '../values/json.ts'
import {
  stepsPerCharacter,
  stepsPerPart,
  withProblemsAt,
  maxProblems,
  noProblems,
  spend,
  problemOfValue,
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
    if (typeof value !== 'number') return noProblems
    for (const { holds: isWithin, problem } of tests) if (!isWithin(value)) return problem
    return noProblems
  }
}

function test(
  limit: Json | undefined,
  bound: Parameters<typeof outOfRange>[1],
  isWithin: (value: number, limit: number) => boolean,
) {
  if (typeof limit !== 'number') return undefined
  return { holds: (value: number) => isWithin(value, limit), problem: problemOfValue(outOfRange(limit, bound)) }
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
  const [minimum, maximum] = [atLeast(minLength), atMost(maxLength)]
  const tooShort = problemOfValue(wrongLength(minimum, 'least', 'character'))
  const long = problemOfValue(wrongLength(maximum, 'most', 'character'))
  return (value, validation) => {
    if (typeof value !== 'string') return noProblems
    const isShorter = value.length < minimum
    const mayBeShorter = value.length < 2 * minimum
    const mayBeLonger = value.length > maximum
    if (isShorter || (!mayBeShorter && !mayBeLonger)) return isShorter ? tooShort : noProblems
    // Counted in code points if it matters: one may have two UTF-16 units.
    if (!spend(validation, Math.min(value.length, mayBeShorter ? Infinity : maximum) * stepsPerCharacter))
      return noProblems
    if (mayBeShorter && !hasMoreCharactersThan(value, Math.ceil(minimum) - 1)) return tooShort
    return mayBeLonger && hasMoreCharactersThan(value, maximum) ? long : noProblems
  }
}

function hasMoreCharactersThan(text: string, limit: number): boolean {
  let characters = 0
  for (const _ of text) if (++characters > limit) return true
  return characters > limit
}

export function listCheck(schema: JsonObject, partOf: PartOf): Check | undefined {
  const { minItems, maxItems, items, prefixItems } = schema
  const sizes = sizeCheck(minItems, maxItems)
  const mustDiffer = schema['uniqueItems'] === true
  // Older drafts define the first elements in `items` and the others in `additionalItems`.
  const firstItems = (Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : []).map(partOf)
  const otherItems = partSchema(Array.isArray(items) ? schema['additionalItems'] : items, partOf)
  if (sizes === undefined && !mustDiffer && firstItems.length === 0 && otherItems === undefined) return undefined
  return (value, validation) => {
    if (!Array.isArray(value)) return noProblems
    let problems = sizes === undefined ? noProblems : sizes(value.length)
    if (mustDiffer && spend(validation, value.length * stepsPerPart))
      problems = withProblemsAt(problems, duplicateProblems(value))
    for (let index = 0; index < value.length; index++) {
      const check = firstItems[index] ?? otherItems
      if (check === undefined) break
      const inside = check(value[index], validation)
      if (inside === noProblems) continue
      problems = withProblemsAt(problems, inside, `[${index}]`)
      if (problems.length > maxProblems) break
    }
    return problems
  }
}

function sizeCheck(minItems: Json | undefined, maxItems: Json | undefined) {
  if (typeof minItems !== 'number' && typeof maxItems !== 'number') return undefined
  const [minimum, maximum] = [atLeast(minItems), atMost(maxItems)]
  const tooShort = problemOfValue(wrongLength(minimum, 'least', 'item'))
  const long = problemOfValue(wrongLength(maximum, 'most', 'item'))
  return (length: number) => (length < minimum ? tooShort : length > maximum ? long : noProblems)
}

/** Only compares values of simple types: strings, numbers, booleans and null. */
function duplicateProblems(items: readonly unknown[]): readonly Problem[] {
  const seen = new Set<unknown>()
  for (const [index, item] of items.entries()) {
    if (typeof item === 'object' && item !== null) continue
    if (seen.has(item)) return [{ path: `[${index}]`, message: isDuplicate }]
    seen.add(item)
  }
  return noProblems
}

export function objectCheck(schema: JsonObject, partOf: PartOf): Check | undefined {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  const required = (Array.isArray(schema['required']) ? schema['required'] : []).filter(
    (name) => typeof name === 'string',
  )
  const fields = new Map<string, Check>()
  for (const [name, part] of Object.entries(properties)) if (part !== undefined) fields.set(name, partOf(part))
  const otherFieldsCheck = otherFields(schema, [...fields.keys()], partOf)
  if (required.length === 0 && fields.size === 0 && otherFieldsCheck === undefined) return undefined
  return (value, validation) => {
    if (!isJsonObject(value)) return noProblems
    const names = Object.keys(value)
    if (!spend(validation, (names.length + required.length) * stepsPerPart)) return noProblems
    let problems = noProblems
    for (const name of required) {
      if (problems.length > maxProblems) return problems
      if (value[name] === undefined || !Object.hasOwn(value, name))
        problems = withProblemsAt(problems, missingFields, `.${name}`)
    }
    for (const name of names) {
      const part = value[name]
      const check = fields.get(name) ?? otherFieldsCheck
      if (part === undefined || check === undefined) continue
      const inside = check(part, validation)
      if (inside === noProblems) continue
      problems = withProblemsAt(problems, inside, `.${name}`)
      if (problems.length > maxProblems) break
    }
    return problems
  }
}

const missingFields = problemOfValue(isMissing)

/** Checks `additionalProperties`. Names that a pattern may allow are accepted: patterns are not evaluated. */
function otherFields(schema: JsonObject, names: readonly string[], partOf: PartOf): Check | undefined {
  if (isJsonObject(schema['patternProperties'])) return undefined
  const { additionalProperties } = schema
  if (additionalProperties !== false) return partSchema(additionalProperties, partOf)
  const problem = problemOfValue(unknownField(names))
  return () => problem
}

/** The check of a part; undefined if the keyword is absent or is not a schema. */
function partSchema(schema: Json | undefined, partOf: PartOf): Check | undefined {
  return isJsonObject(schema) || schema === false ? partOf(schema) : undefined
}

function atLeast(limit: Json | undefined): number {
  return typeof limit === 'number' ? limit : -Infinity
}

function atMost(limit: Json | undefined): number {
  return typeof limit === 'number' ? limit : Infinity
}
