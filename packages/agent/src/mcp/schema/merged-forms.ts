import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { fieldForms, refusedCombinations } from '../mcp-texts.ts'
import { isLegacySchema, targetOf } from './pointer.ts'

export interface MergedForms {
  /** The schema without alternatives at the top: it accepts what any of the alternatives accepts. */
  readonly schema: JsonObject
  /** Which fields belong together, in words for a model; undefined if there is nothing to add. */
  readonly note?: string
}

/** The fields of a schema, or of one of its alternatives. */
interface Form {
  readonly title?: string | undefined
  readonly properties: ReadonlyMap<string, Json>
  readonly required: ReadonlySet<string>
  /** Whether the form allows no other fields. */
  readonly isClosed: boolean
  /** Alternatives of which at least one must match. */
  readonly choices: readonly (readonly Form[])[]
}

/** Maximum nesting and number of references and alternatives: alternatives that refer to each other multiply. */
const deepest = 8
const maxFollowed = 1_000
/** Maximum number of fields: many references to one large part multiply its fields. */
const maxFields = 20_000
/**
 * Maximum size of a schema whose alternatives are merged, in characters: each is compared with the others. The model
 * sees far fewer.
 */
const maxCompared = 262_144
const maxListed = 12
const maxCharacters = 1_500

/**
 * Merges alternatives into one object schema. The Messages API rejects `anyOf`, `oneOf` and `allOf` at the top of an
 * input, and a `$ref` there hides the fields from other services. What fields cannot express is added in words.
 */
export function mergedForms(rawSchema: JsonObject): MergedForms {
  const { anyOf, oneOf, allOf, $ref, not, enum: values, const: same, ...rest } = rawSchema
  const others = [not, values, same].some((part) => part !== undefined)
  const otherNote = others ? refusedCombinations : undefined
  if ([anyOf, oneOf, allOf, $ref].every((part) => part === undefined))
    return { schema: rest, ...(otherNote !== undefined && { note: otherNote }) }
  const isTooLong = JSON.stringify(rawSchema).length > maxCompared
  const form = isTooLong
    ? anything
    : formOf(rawSchema, { root: rawSchema, left: maxFollowed, fieldsLeft: maxFields }, 0)
  if (form === 'no object') return { schema: rest }
  const { properties, required, isClosed, choices } = form
  const closes = isClosed && rest['additionalProperties'] === undefined && rest['patternProperties'] === undefined
  const notes = [...choices.map(wordsOf), otherNote].filter((note) => note !== undefined)
  return {
    schema: {
      ...rest,
      ...(properties.size > 0 && { properties: Object.fromEntries(properties) }),
      ...(required.size > 0 && { required: [...required] }),
      ...(closes && { additionalProperties: false }),
    },
    ...(notes.length > 0 && { note: cut(notes.join(' ')) }),
  }
}

const anything: Form = { properties: new Map(), required: new Set(), isClosed: false, choices: [] }

interface Walk {
  readonly root: JsonObject
  left: number
  fieldsLeft: number
}

/** Returns the form of a schema; an unreadable schema accepts anything. */
function formOf(schema: Json | undefined, walk: Walk, depth: number): Form | 'no object' {
  if (schema === false) return 'no object'
  if (!isJsonObject(schema) || depth > deepest || --walk.left < 0 || walk.fieldsLeft < 0) return anything
  const { type, title, properties, required, additionalProperties, patternProperties, $ref, allOf } = schema
  if (type !== undefined && ![type].flat().includes('object')) return 'no object'
  const own = isJsonObject(properties) ? definedEntries(properties) : []
  walk.fieldsLeft -= own.length
  const parts: (Form | 'no object')[] = [
    {
      title: typeof title === 'string' ? title : undefined,
      properties: new Map(own),
      required: new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []),
      isClosed: additionalProperties === false && patternProperties === undefined,
      choices: [],
    },
  ]
  // Values inside JSON are JSON.
  const target = typeof $ref === 'string' ? (targetOf(walk.root, $ref) as Json | undefined) : undefined
  if (target !== undefined && isLegacySchema(walk.root))
    return formOf(target === schema ? true : target, walk, depth + 1)
  // A reference to itself adds nothing.
  if (isJsonObject(target) && target !== schema) parts.push(formOf(target, walk, depth + 1))
  if (Array.isArray(allOf)) for (const part of allOf) parts.push(formOf(part, walk, depth + 1))
  for (const alternatives of [schema['anyOf'], schema['oneOf']]) {
    if (!Array.isArray(alternatives)) continue
    const forms = alternatives.map((one: Json) => formOf(one, walk, depth + 1)).filter((one) => one !== 'no object')
    if (forms.length > 0) parts.push(isWithinLimits(forms, walk) ? either(forms) : anything)
  }
  const forms = parts.filter((part) => part !== 'no object')
  return isWithinLimits(forms, walk) ? every(forms) : anything
}

/** Whether these may still be merged, within the limits. */
function isWithinLimits(forms: readonly Form[], walk: Walk): boolean {
  // A single form is used unchanged.
  if (forms.length > 1) for (const { properties, required } of forms) walk.fieldsLeft -= properties.size + required.size
  return walk.fieldsLeft >= 0
}

function every(forms: readonly Form[]): Form {
  const [only] = forms
  if (forms.length === 1 && only !== undefined) return only
  return {
    title: forms.find(({ title }) => title !== undefined)?.title,
    properties: new Map([...schemasByName(forms)].map(([name, schemas]) => [name, schemas.reduce(bothOf)])),
    required: new Set(forms.flatMap(({ required }) => [...required])),
    isClosed: forms.some(({ isClosed }) => isClosed),
    choices: forms.flatMap(({ choices }) => choices),
  }
}

function either(forms: readonly Form[]): Form {
  const [only] = forms
  if (forms.length === 1 && only !== undefined) return only
  const requiring = new Map<string, number>()
  for (const { required } of forms) for (const name of required) requiring.set(name, (requiring.get(name) ?? 0) + 1)
  const byName = schemasByName(forms)
  return {
    properties: new Map([...byName].map(([name, schemas]) => [name, eitherOf(schemas)])),
    required: new Set([...byName.keys()].filter((name) => requiring.get(name) === forms.length)),
    isClosed: forms.every(({ isClosed }) => isClosed),
    choices: [forms],
  }
}

/** The schemas of each field in all forms, without duplicates. */
function schemasByName(forms: readonly Form[]): ReadonlyMap<string, readonly Json[]> {
  const byName = new Map<string, Set<Json>>()
  for (const { properties } of forms)
    for (const [name, schema] of properties) {
      const schemas = byName.get(name) ?? new Set()
      byName.set(name, schemas.add(schema))
    }
  return new Map([...byName].map(([name, schemas]) => [name, [...schemas]]))
}

/** Keywords that do not depend on other keywords. */
const plainKeywords = ['type', 'enum', 'const', 'title', 'description', 'default', 'examples', 'format', 'deprecated']

function bothOf(one: Json, other: Json): Json {
  if (isAnything(one) || isDeepStrictEqual(one, other)) return other
  if (isAnything(other)) return one
  if (isJsonObject(one) && isJsonObject(other)) {
    const isPlain = [one, other].some((part) => Object.keys(part).every((keyword) => plainKeywords.includes(keyword)))
    const agree = Object.entries(one).every(
      ([keyword, value]) => other[keyword] === undefined || isDeepStrictEqual(value, other[keyword]),
    )
    if (isPlain && agree) return { ...one, ...other }
  }
  return { allOf: [one, other] }
}

function eitherOf(all: readonly Json[]): Json {
  const different = distinct(all)
  const [only] = different
  if (different.length === 1 && only !== undefined) return only
  const values = different.map(valuesOf)
  // Forms are often distinguished by a field with one value each.
  return values.every((list) => list !== undefined) ? { enum: distinct(values.flat()) } : { anyOf: different }
}

/** Removes duplicates by comparing JSON texts: comparing each value with each other takes too long for many values. */
function distinct(values: readonly Json[]): readonly Json[] {
  const byText = new Map<string, Json>()
  for (const value of values) {
    const text = JSON.stringify(value, (_key, part: Json) => (isJsonObject(part) ? sorted(part) : part))
    if (!byText.has(text)) byText.set(text, value)
  }
  return [...byText.values()]
}

function sorted(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function valuesOf(schema: Json): readonly Json[] | undefined {
  if (!isJsonObject(schema)) return undefined
  const { const: same, enum: values, type: _type, description: _, title: _title, ...rest } = schema
  if (Object.keys(rest).length > 0) return undefined
  return same === undefined ? (Array.isArray(values) && values.length > 0 ? values : undefined) : [same]
}

function isAnything(schema: Json): boolean {
  return schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0)
}

function definedEntries(fields: JsonObject): readonly (readonly [string, Json])[] {
  return Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

function wordsOf(forms: readonly Form[]): string | undefined {
  const fieldLists = [...new Set(forms.map(fieldsOf))]
  if (fieldLists.length < 2) return undefined
  const shown = fieldLists.slice(0, maxListed)
  return fieldForms(shown, fieldLists.length - shown.length)
}

function cut(text: string): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)} [...]`
}

function fieldsOf({ title, properties, required }: Form): string {
  const fields = [...required].map((name) => {
    const [value, ...more] = valuesOf(properties.get(name) ?? true) ?? []
    return value === undefined || more.length > 0 ? name : `${name} = ${JSON.stringify(value)}`
  })
  const optional = [...properties.keys()].filter((name) => !required.has(name)).map((name) => `[${name}]`)
  const list = [...fields, ...optional].join(', ') || 'none'
  return title === undefined ? list : `${title}: ${list}`
}
