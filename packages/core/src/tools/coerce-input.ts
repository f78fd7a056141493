import { isJsonObject, type Json, type JsonObject } from '../values/json.ts'

/** Below this nothing is looked at any more; an input of a tool has two or three levels. */
const mostLevels = 20

// Spec R-TOOL-2a.
/**
 * The input as its schema wants it, where the meaning is plain; the input itself where nothing is. What fits stays as it is.
 *
 * - `"3"` is a number, and `3` a text, where that is wanted; `"true"` is true.
 * - null, and a text that is empty where none may be, is no answer where none is needed.
 * - One thing is a list of it; a text that holds a list or an object as JSON is that.
 * - A choice in other case or with space around it is that choice.
 *
 * It says nothing of the rest: what it gives may still not fit.
 */
export function coercedInput(schema: JsonObject, input: Json): Json {
  return coerced(schema, input, 0)
}

function coerced(schema: unknown, value: Json, level: number): Json {
  if (!isJsonObject(schema) || level > mostLevels) return value
  const wanted = typesOf(schema)
  if (wanted.length === 0) return value
  const fitting = wanted.includes(typeOf(value)) || (wanted.includes('number') && typeof value === 'number')
  const taken = fitting ? value : asOneOf(wanted, schema, value)
  if (typeof taken === 'string') return choiceOf(schema, taken)
  if (Array.isArray(taken)) return eachCoerced(schema['items'], taken, level)
  return isJsonObject(taken) ? fieldsCoerced(schema, taken, level) : taken
}

/** There are seven; a longer list would be gone through for each value. */
const mostTypes = 20

function typesOf({ type }: JsonObject): readonly unknown[] {
  if (typeof type === 'string') return [type]
  return Array.isArray(type) && type.length <= mostTypes ? type : []
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** The value as the first of the types that it plainly is. */
function asOneOf(wanted: readonly unknown[], schema: JsonObject, value: Json): Json {
  for (const type of wanted) {
    const taken = asType(type, schema, value)
    if (taken !== undefined) return taken
  }
  return value
}

function asType(type: unknown, schema: JsonObject, value: Json): Json | undefined {
  switch (type) {
    case 'integer':
    case 'number':
      return numberOf(value, type === 'integer')
    case 'boolean':
      return booleanOf(value)
    case 'string':
      return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
    case 'array':
      return listOf(schema['items'], value)
    case 'object': {
      const parsed = parsedFrom(value, '{')
      return isJsonObject(parsed) ? parsed : undefined
    }
    default:
      return undefined
  }
}

const plainNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

function numberOf(value: Json, isWhole: boolean): number | undefined {
  if (typeof value !== 'string' || value.length > 40 || !plainNumber.test(value.trim())) return undefined
  const number = Number(value)
  // One that is not the number that was written is none.
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER && (!isWhole || Number.isInteger(number)) ? number : undefined
}

function booleanOf(value: Json): boolean | undefined {
  if (typeof value !== 'string' || value.length > 40) return undefined
  const word = value.trim().toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : undefined
}

/** A list as JSON, or one thing where things of its type are wanted. */
function listOf(items: unknown, value: Json): readonly Json[] | undefined {
  const parsed = parsedFrom(value, '[')
  if (Array.isArray(parsed)) return parsed
  // What begins as a list and is none was cut, or is something else.
  const isBroken = typeof value === 'string' && value.trimStart().startsWith('[')
  if (isBroken || value === null || !isJsonObject(items)) return undefined
  return typesOf(items).includes(typeOf(value)) ? [value] : undefined
}

function parsedFrom(value: Json, first: '[' | '{'): Json | undefined {
  if (typeof value !== 'string' || !value.trimStart().startsWith(first)) return undefined
  try {
    // What JSON.parse gives is JSON.
    return JSON.parse(value) as Json
  } catch {
    return undefined
  }
}

function choiceOf({ enum: choices }: JsonObject, value: string): string {
  if (!Array.isArray(choices)) return value
  const { all, byPlain } = choicesIn(choices)
  return all.has(value) ? value : (byPlain.get(plainOf(value)) ?? value)
}

interface Choices {
  readonly all: ReadonlySet<unknown>
  /** In lower case; undefined where two are the same then. */
  readonly byPlain: ReadonlyMap<string, string | undefined>
}

/** A list of many texts is compared with its choices one by one. */
const knownChoices = new WeakMap<readonly Json[], Choices>()

function choicesIn(choices: readonly Json[]): Choices {
  const known = knownChoices.get(choices)
  if (known !== undefined) return known
  const byPlain = new Map<string, string | undefined>()
  for (const choice of choices) {
    if (typeof choice !== 'string') continue
    const plain = choice.toLowerCase()
    byPlain.set(plain, byPlain.has(plain) ? undefined : choice)
  }
  const found = { all: new Set<unknown>(choices), byPlain }
  knownChoices.set(choices, found)
  return found
}

function plainOf(value: string): string {
  return value.trim().toLowerCase()
}

function eachCoerced(items: unknown, list: readonly Json[], level: number): readonly Json[] {
  const taken = list.map((each) => coerced(items, each, level + 1))
  return taken.every((each, index) => each === list[index]) ? list : taken
}

function fieldsCoerced(schema: JsonObject, given: JsonObject, level: number): JsonObject {
  const { properties, required } = schema
  if (!isJsonObject(properties)) return given
  const needed = new Set<unknown>(Array.isArray(required) ? required : [])
  let isChanged = false
  const fields = Object.entries(given).flatMap(([name, value]): readonly (readonly [string, Json])[] => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (value === undefined) return []
    if (!needed.has(name) && isNoAnswer(field, value)) {
      isChanged = true
      return []
    }
    const taken = coerced(field, value, level + 1)
    isChanged ||= taken !== value
    return [[name, taken]]
  })
  return isChanged ? Object.fromEntries(fields) : given
}

function isNoAnswer(field: Json | undefined, value: Json): boolean {
  if (!isJsonObject(field)) return false
  if (value === null) return typesOf(field).length > 0 && !typesOf(field).includes('null')
  return value === '' && typesOf(field).includes('string') && Number(field['minLength'] ?? 0) > 0
}
