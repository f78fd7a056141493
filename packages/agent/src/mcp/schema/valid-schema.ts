import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { isLegacySchema } from './pointer.ts'

/** Which annotations (`description` and similar) are retained. */
export type Words = 'all' | 'of fields'

export interface ValidSchema {
  readonly schema: JsonObject
  /** Descriptions of omitted parts, one clause each: `properties.a: type is not valid`. */
  readonly problems: readonly string[]
}

/** Maximum number of parts of one schema, and of levels. */
const maxParts = 4_000
const deepest = 24

/**
 * Returns a valid schema of draft 2020-12 that accepts everything that the given schema accepts: services refuse the
 * whole request for an invalid schema. Omits invalid keywords but retains what surrounds them. Rewrites forms of
 * earlier drafts.
 */
export function validSchema(rawSchema: JsonObject, words: Words = 'all'): ValidSchema {
  const problems: string[] = []
  const walk = {
    problems,
    words,
    isLegacy: isLegacySchema(rawSchema),
    parts: 0,
  }
  const { $schema: _, ...rest } = rawSchema
  const schema = validPart(rest, { path: '', depth: 0 }, walk)
  return { schema: isJsonObject(schema) ? schema : {}, problems }
}

interface Walk {
  readonly problems: string[]
  readonly words: Words
  readonly isLegacy: boolean
  parts: number
}

interface Place {
  readonly path: string
  readonly depth: number
}

/** Reads the value of one keyword; undefined if it is invalid. */
type KeywordReader = (value: Json, place: Place, walk: Walk) => Json | undefined

function validPart(part: Json | undefined, place: Place, walk: Walk): Json {
  if (typeof part === 'boolean') return part
  const problem = !isJsonObject(part)
    ? 'it is not a schema'
    : ++walk.parts > maxParts
      ? 'the schema has too many parts'
      : place.depth > deepest
        ? 'it is nested too deeply'
        : undefined
  if (problem !== undefined || !isJsonObject(part)) {
    walk.problems.push(`${place.path}: ${problem}`)
    return {}
  }
  const read: Record<string, Json> = {}
  const lost = new Set<string>()
  for (const [keyword, value] of Object.entries(rewritten(part, walk))) {
    if (value === undefined || isDropped(keyword, place, walk)) continue
    const reader = Object.hasOwn(readers, keyword) ? readers[keyword] : undefined
    const before = walk.problems.length
    const valid =
      reader === undefined
        ? value
        : reader(value, { path: place.path === '' ? keyword : `${place.path}.${keyword}`, depth: place.depth }, walk)
    if (valid === undefined && walk.problems.length === before)
      walk.problems.push(`${place.path === '' ? '' : `${place.path}: `}${keyword} is not valid`)
    if (walk.problems.length > before) lost.add(keyword)
    // Inside a `not`, accepting more would exclude more.
    if (valid !== undefined && !(keyword === 'not' && lost.has(keyword))) define(read, keyword, valid)
  }
  return withoutDependents(read, lost)
}

/** Removes keywords that depend on an omitted keyword: without that keyword, they would accept less. */
function withoutDependents(read: Readonly<Record<string, Json>>, lost: ReadonlySet<string>): JsonObject {
  const isGone = (keyword: string): boolean =>
    (['additionalProperties', 'unevaluatedProperties'].includes(keyword) &&
      ['properties', 'patternProperties'].some((name) => lost.has(name))) ||
    (['items', 'unevaluatedItems'].includes(keyword) && lost.has('prefixItems'))
  const remaining = Object.entries(read).filter(([keyword]) => !isGone(keyword))
  return remaining.length === Object.keys(read).length ? read : Object.fromEntries(remaining)
}

/** Handles a field named `__proto__` like any other. */
function define(object: Record<string, Json>, name: string, value: Json): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

function isDropped(keyword: string, { depth }: Place, { words }: Walk): boolean {
  if (words === 'all') return false
  if (['examples', '$comment', 'default', 'title'].includes(keyword)) return true
  return keyword === 'description' && depth > 1
}

/** Returns a part in the form of draft 2020-12. */
function rewritten(part: JsonObject, { isLegacy }: Walk): JsonObject {
  if (isLegacy && typeof part['$ref'] === 'string') {
    const { $ref, title, description } = part
    return { $ref, ...(title !== undefined && { title }), ...(description !== undefined && { description }) }
  }
  const { items, additionalItems, exclusiveMinimum, exclusiveMaximum, minimum, maximum } = part
  const isTuple = Array.isArray(items) && items.length > 0
  const isLater = isLegacy && part['prefixItems'] !== undefined
  const [isAbove, isBelow] = [exclusiveMinimum, exclusiveMaximum].map((value) => typeof value === 'boolean')
  if (!isTuple && !isLater && isAbove !== true && isBelow !== true) return part
  return {
    ...part,
    // Removes keywords that the draft does not define.
    ...(isLater && { prefixItems: undefined }),
    ...(isTuple && { prefixItems: items, items: additionalItems, additionalItems: undefined }),
    ...(isAbove === true && limits('minimum', 'exclusiveMinimum', minimum, exclusiveMinimum)),
    ...(isBelow === true && limits('maximum', 'exclusiveMaximum', maximum, exclusiveMaximum)),
  }
}

function limits(name: string, exclusive: string, limit: Json | undefined, is: Json | undefined): JsonObject {
  return is === true ? { [name]: undefined, [exclusive]: limit } : { [name]: limit, [exclusive]: undefined }
}

const typeNames: readonly Json[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

const part: KeywordReader = (value, { path, depth }, walk) =>
  isJsonObject(value) || typeof value === 'boolean' ? validPart(value, { path, depth: depth + 1 }, walk) : undefined

const parts: KeywordReader = (value, { path, depth }, walk) =>
  Array.isArray(value) && value.length > 0
    ? value.map((one: Json, index) => validPart(one, { path: `${path}[${index}]`, depth: depth + 1 }, walk))
    : undefined

function namedParts(isName: (name: string) => boolean = () => true): KeywordReader {
  return (value, { path, depth }, walk) => {
    if (!isJsonObject(value)) return undefined
    const read: Record<string, Json> = {}
    for (const [name, one] of Object.entries(value)) {
      const place = { path: `${path}.${name}`, depth: depth + 1 }
      if (isName(name)) define(read, name, validPart(one, place, walk))
      else walk.problems.push(`${place.path}: it is not a pattern`)
    }
    return read
  }
}

const when =
  (isValid: (value: Json) => boolean): KeywordReader =>
  (value) =>
    isValid(value) ? value : undefined

const number = when((value) => typeof value === 'number')
const count = when((value) => Number.isInteger(value) && Number(value) >= 0)
const text = when((value) => typeof value === 'string')
const truth = when((value) => typeof value === 'boolean')

/** Reads a list of valid names without duplicates. */
const names: KeywordReader = (value, { path }, walk) => {
  if (!Array.isArray(value)) return undefined
  const read = [...new Set(value.filter((name) => typeof name === 'string'))]
  if (value.some((name) => typeof name !== 'string')) walk.problems.push(`${path}: a name in it is not a text`)
  return read
}

const type: KeywordReader = (value, { path }, walk) => {
  const typeList: readonly Json[] = Array.isArray(value) ? value : [value]
  // An unknown type may accept anything.
  if (typeList.length === 0 || !typeList.every((name) => typeNames.includes(name))) {
    walk.problems.push(`${path} is not valid`)
    return undefined
  }
  const [only, ...more] = new Set(typeList)
  return more.length === 0 ? only : [...new Set(typeList)]
}

const namesByName: KeywordReader = (value, place, walk) => {
  if (!isJsonObject(value)) return undefined
  const read = Object.entries(value).flatMap(([name, list]) => {
    const valid = list === undefined ? undefined : names(list, place, walk)
    return valid === undefined ? [] : [[name, valid] as const]
  })
  return Object.fromEntries(read)
}

const readers: Readonly<Record<string, KeywordReader>> = {
  type,
  enum: when((value) => Array.isArray(value) && value.length > 0),
  pattern: when(isPattern),
  required: names,
  dependentRequired: namesByName,
  examples: when((value) => Array.isArray(value)),
  properties: namedParts(),
  patternProperties: namedParts(isPattern),
  $defs: namedParts(),
  definitions: namedParts(),
  dependentSchemas: namedParts(),
  ...all(part, ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'unevaluatedItems', 'unevaluatedProperties', 'contentSchema']), // prettier-ignore
  ...all(parts, ['anyOf', 'oneOf', 'allOf', 'prefixItems']),
  ...all(number, ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']),
  multipleOf: when((value) => typeof value === 'number' && value > 0),
  ...all(count, ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains', 'maxContains']), // prettier-ignore
  ...all(text, ['title', 'description', 'format', '$ref', '$id', '$comment', '$schema', '$anchor', '$dynamicRef', '$dynamicAnchor', 'contentEncoding', 'contentMediaType']), // prettier-ignore
  ...all(truth, ['uniqueItems', 'deprecated', 'readOnly', 'writeOnly']),
}

function all(reader: KeywordReader, keywords: readonly string[]): Readonly<Record<string, KeywordReader>> {
  return Object.fromEntries(keywords.map((keyword) => [keyword, reader]))
}

function isPattern(value: Json): boolean {
  if (typeof value !== 'string') return false
  try {
    return RegExp(value, 'u') instanceof RegExp
  } catch {
    return false
  }
}
