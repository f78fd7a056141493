import { isJsonObject, type Json, type JsonObject } from '../values/json.ts'

/** Maximum nesting that is converted; a tool input has two or three levels. */
const maxLevels = 20

// Spec R-TOOL-2a.
/**
 * Converts an input to what its schema expects if the meaning is obvious. Returns the same input if nothing changes.
 * Valid parts are unchanged.
 * - `"3"` becomes a number, and `3` a text, if that type is expected; `"true"` becomes true.
 * - null, or an empty text where none is allowed, is dropped if the field is optional.
 * - A single value becomes a list of one. A text with a list or an object as JSON is parsed.
 * - A choice in other case or with surrounding spaces becomes that choice.
 * The result may still be invalid.
 */
export function coercedInput(schema: JsonObject, input: Json): Json {
  return coercedValue(schema, input, 0)
}

function coercedValue(schema: unknown, value: Json, level: number): Json {
  if (!isJsonObject(schema) || level > maxLevels) return value
  const expectedTypes = typesOf(schema)
  if (expectedTypes.length === 0) return value
  const fitting =
    expectedTypes.includes(typeOf(value)) || (expectedTypes.includes('number') && typeof value === 'number')
  const converted = fitting ? value : asOneOf(expectedTypes, schema, value)
  if (typeof converted === 'string') return matchingChoice(schema, converted)
  if (Array.isArray(converted)) return coercedItems(schema['items'], converted, level)
  return isJsonObject(converted) ? coercedFields(schema, converted, level) : converted
}

/** JSON Schema has seven types. A longer list would be searched for each value. */
const maxTypes = 20

function typesOf({ type }: JsonObject): readonly unknown[] {
  if (typeof type === 'string') return [type]
  return Array.isArray(type) && type.length <= maxTypes ? type : []
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** Converts the value to the first of the types that it clearly represents. */
function asOneOf(expectedTypes: readonly unknown[], schema: JsonObject, value: Json): Json {
  for (const type of expectedTypes) {
    const converted = asType(type, schema, value)
    if (converted !== undefined) return converted
  }
  return value
}

function asType(type: unknown, schema: JsonObject, value: Json): Json | undefined {
  switch (type) {
    case 'integer':
    case 'number':
      return numberIn(value, type === 'integer')
    case 'boolean':
      return booleanIn(value)
    case 'string':
      return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
    case 'array':
      return listIn(schema['items'], value)
    case 'object': {
      const parsed = parsedFrom(value, '{')
      return isJsonObject(parsed) ? parsed : undefined
    }
    default:
      return undefined
  }
}

const numberPattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

function numberIn(value: Json, isWhole: boolean): number | undefined {
  if (typeof value !== 'string' || value.length > 40 || !numberPattern.test(value.trim())) return undefined
  const number = Number(value)
  // A number that cannot be represented exactly is not converted.
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER && (!isWhole || Number.isInteger(number)) ? number : undefined
}

function booleanIn(value: Json): boolean | undefined {
  if (typeof value !== 'string' || value.length > 40) return undefined
  const word = value.trim().toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : undefined
}

/** A list in JSON, or a single value if elements of its type are expected. */
function listIn(items: unknown, value: Json): readonly Json[] | undefined {
  const parsed = parsedFrom(value, '[')
  if (Array.isArray(parsed)) return parsed
  // A text that begins like a list but is not one was truncated, or means something else.
  const isBroken = typeof value === 'string' && value.trimStart().startsWith('[')
  if (isBroken || value === null || !isJsonObject(items)) return undefined
  return typesOf(items).includes(typeOf(value)) ? [value] : undefined
}

function parsedFrom(value: Json, first: '[' | '{'): Json | undefined {
  if (typeof value !== 'string' || !value.trimStart().startsWith(first)) return undefined
  try {
    // `JSON.parse` returns JSON.
    return JSON.parse(value) as Json
  } catch {
    return undefined
  }
}

function matchingChoice({ enum: choices }: JsonObject, value: string): string {
  if (!Array.isArray(choices)) return value
  const { all, byPlain } = choicesOf(choices)
  return all.has(value) ? value : (byPlain.get(normalizedChoice(value)) ?? value)
}

interface Choices {
  readonly all: ReadonlySet<unknown>
  /** In lower case; undefined if two choices are equal in lower case. */
  readonly byPlain: ReadonlyMap<string, string | undefined>
}

/** Cache, because each element of a list of texts is compared with the choices. */
const choicesCache = new WeakMap<readonly Json[], Choices>()

function choicesOf(choices: readonly Json[]): Choices {
  const cached = choicesCache.get(choices)
  if (cached !== undefined) return cached
  const byPlain = new Map<string, string | undefined>()
  for (const choice of choices) {
    if (typeof choice !== 'string') continue
    const normalized = choice.toLowerCase()
    byPlain.set(normalized, byPlain.has(normalized) ? undefined : choice)
  }
  const found = { all: new Set<unknown>(choices), byPlain }
  choicesCache.set(choices, found)
  return found
}

function normalizedChoice(value: string): string {
  return value.trim().toLowerCase()
}

function coercedItems(items: unknown, list: readonly Json[], level: number): readonly Json[] {
  const converted = list.map((each) => coercedValue(items, each, level + 1))
  return converted.every((each, index) => each === list[index]) ? list : converted
}

function coercedFields(schema: JsonObject, object: JsonObject, level: number): JsonObject {
  const { properties, required } = schema
  if (!isJsonObject(properties)) return object
  const needed = new Set<unknown>(Array.isArray(required) ? required : [])
  let isChanged = false
  const fields = Object.entries(object).flatMap(([name, value]): readonly (readonly [string, Json])[] => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (value === undefined) return []
    if (!needed.has(name) && isEmptyValue(field, value)) {
      isChanged = true
      return []
    }
    const converted = coercedValue(field, value, level + 1)
    isChanged ||= converted !== value
    return [[name, converted]]
  })
  return isChanged ? Object.fromEntries(fields) : object
}

function isEmptyValue(field: Json | undefined, value: Json): boolean {
  if (!isJsonObject(field)) return false
  if (value === null) return typesOf(field).length > 0 && !typesOf(field).includes('null')
  return value === '' && typesOf(field).includes('string') && Number(field['minLength'] ?? 0) > 0
}
