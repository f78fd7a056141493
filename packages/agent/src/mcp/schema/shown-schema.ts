import { isJsonObject, wellFormedJson } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { renamedField } from '../mcp-texts.ts'
import { mergedForms } from './merged-forms.ts'
import { isPointer, targetOf, pointerSegment } from './pointer.ts'
import { validSchema, type ValidSchema } from './valid-schema.ts'

/**
 * The input schema of a tool as shown to a model. It accepts a superset of the server's schema: the server checks its
 * input.
 */
export interface ShownSchema {
  readonly schema: JsonObject
  /** The server's field names, by the names shown to the model. */
  readonly ownNames: ReadonlyMap<string, string>
  /** A description for the model of what the schema cannot express. */
  readonly note?: string
  /** Descriptions of omitted parts, one clause each. */
  readonly problems: readonly string[]
}

/** Maximum characters of one schema as JSON. */
const maxCharacters = 32_768

/**
 * Makes a schema acceptable to services, which refuse the whole request for one invalid schema: omits invalid parts,
 * merges alternatives at the top, and renames top-level fields whose names services refuse.
 */
export function shownSchemaOf(rawSchema: JsonObject): ShownSchema {
  const { schema: merged, note } = mergedForms(rawSchema)
  const { schema, problems } = fitting(merged)
  const { schema: renamed, ownNames } = withValidNames(schema)
  return {
    schema: wellFormedJson({ ...withoutDeadReferences(renamed), type: 'object' }),
    ownNames,
    ...(note !== undefined && { note }),
    problems,
  }
}

/** A schema that is too long loses its descriptions first, then the details of its fields. */
function fitting(rawSchema: JsonObject): ValidSchema {
  const whole = validSchema(rawSchema)
  if (lengthOf(whole.schema) <= maxCharacters) return whole
  const problem = `it is longer than ${maxCharacters} characters`
  const short = validSchema(rawSchema, 'of fields')
  if (lengthOf(short.schema) <= maxCharacters) return { ...short, problems: [...short.problems, problem] }
  return { schema: outlineOf(short.schema), problems: [...short.problems, problem] }
}

const maxOfDescription = 200

/** Reduces a schema to the names and types of its fields. */
function outlineOf({ properties, required }: JsonObject): JsonObject {
  const fields = isJsonObject(properties) ? Object.entries(properties) : []
  const outline = fields.map(([name, field]) => {
    const { type, description } = isJsonObject(field) ? field : {}
    const text = typeof description === 'string' ? { description: description.slice(0, maxOfDescription) } : {}
    return [name, { ...(type !== undefined && { type }), ...text }] as const
  })
  const schema = { properties: Object.fromEntries(outline), ...(required !== undefined && { required }) }
  return lengthOf(schema) <= maxCharacters ? schema : {}
}

function lengthOf(schema: JsonObject): number {
  return JSON.stringify(schema).length
}

/** Longest top-level field name that the Messages API accepts. Nested fields may have any name. */
const longestName = 64
const isValidName = (name: string): boolean => /^[\w.-]{1,64}$/.test(name)

function withValidNames(schema: JsonObject): {
  readonly schema: JsonObject
  readonly ownNames: ReadonlyMap<string, string>
} {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  const all = new Set([...Object.keys(properties), ...namesIn(schema['required'])])
  const newNames = new Map<string, string>()
  const taken = new Set(all)
  const counts = new Map<string, number>()
  for (const name of all)
    if (!isValidName(name)) {
      const shown = freeName(name, taken, counts)
      taken.add(shown)
      newNames.set(name, shown)
    }
  if (newNames.size === 0) return { schema, ownNames: new Map() }
  const shownName = (name: string): string => newNames.get(name) ?? name
  const { dependentRequired, dependentSchemas, required } = schema
  const fields = Object.entries(properties).map(
    ([name, field]) => [shownName(name), newNames.has(name) ? withOwnName(field, name) : field] as const,
  )
  const renamed = {
    ...schema,
    properties: Object.fromEntries(fields),
    ...(Array.isArray(required) && { required: namesIn(required).map(shownName) }),
    ...(isJsonObject(dependentRequired) && {
      dependentRequired: Object.fromEntries(
        Object.entries(dependentRequired).map(([name, list]) => [shownName(name), namesIn(list).map(shownName)]),
      ),
    }),
    ...(isJsonObject(dependentSchemas) && {
      dependentSchemas: Object.fromEntries(
        Object.entries(dependentSchemas).map(([name, part]) => [shownName(name), part]),
      ),
    }),
  }
  return {
    schema: mappedReferences(renamed, (reference) => {
      const [, first = '', rest = ''] = /^#\/properties\/([^/]*)(.*)$/s.exec(reference) ?? []
      const shown = newNames.get(pointerSegment(first))
      return shown === undefined ? reference : `#/properties/${shown}${rest}`
    }),
    ownNames: new Map([...newNames].map(([name, shown]) => [shown, name])),
  }
}

function namesIn(list: Json | undefined): readonly string[] {
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : []
}

/** @param counts The last number per name, so that no number is tried twice. */
function freeName(name: string, taken: ReadonlySet<string>, counts: Map<string, number>): string {
  const plain = name.replace(/[^\w.-]/g, '_').slice(0, longestName - 4) || 'field'
  let free = plain
  let count = counts.get(plain) ?? 1
  while (taken.has(free)) free = `${plain}_${++count}`
  counts.set(plain, count)
  return free
}

function withOwnName(field: Json | undefined, name: string): Json | undefined {
  if (!isJsonObject(field)) return field
  const { description } = field
  const own = renamedField(name.slice(0, 200))
  return { ...field, description: typeof description === 'string' ? `${description} ${own}` : own }
}

/**
 * Removes references without a target, because services refuse such a schema. The affected part then accepts anything.
 */
function withoutDeadReferences(schema: JsonObject): JsonObject {
  return mappedReferences(schema, (reference) =>
    isPointer(reference) && targetOf(schema, reference) === undefined ? undefined : reference,
  )
}

/** Keywords whose values are not schemas, and keywords whose fields are names of schemas. */
const data = ['enum', 'const', 'default', 'examples']
const named = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']

function mappedReferences(schema: JsonObject, map: (reference: string) => string | undefined): JsonObject {
  let dropped = 0
  const partOf = (value: Json | undefined): Json | undefined => {
    if (Array.isArray(value)) return value.map((one: Json) => partOf(one) ?? null)
    return isJsonObject(value) ? Object.fromEntries(Object.entries(value).flatMap(keywordOf)) : value
  }
  const keywordOf = ([keyword, value]: readonly [string, Json | undefined]): readonly (readonly [
    string,
    Json | undefined,
  ])[] => {
    if (data.includes(keyword)) return [[keyword, value]]
    if (named.includes(keyword) && isJsonObject(value))
      return [[keyword, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, partOf(part)]))]]
    if (keyword === '$ref' && typeof value === 'string') {
      const reference = map(value)
      if (reference === undefined) dropped += 1
      return reference === undefined ? [] : [[keyword, reference]]
    }
    const before = dropped
    const part = partOf(value)
    // Inside a `not`, accepting more would exclude more.
    return keyword === 'not' && dropped > before ? [] : [[keyword, part]]
  }
  return Object.fromEntries(Object.entries(schema).flatMap(keywordOf))
}
