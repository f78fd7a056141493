import { isJsonObject, type Json, type JsonObject } from '../values/json.ts'

/** Finds what a `$ref` names; undefined where it is not followed. */
export type TargetOf = (reference: string) => unknown

/** Whether the value of a keyword is one whose check is exact; `covered` notes a part of the schema that must be exact, too. */
type IsExact = (value: Json, covered: (part: unknown) => boolean, schema: JsonObject) => boolean

const isNumber: IsExact = (value) => typeof value === 'number'
const isAnything: IsExact = () => true
const isPart: IsExact = (value, covered) => covered(value)
const isParts: IsExact = (value, covered) => Array.isArray(value) && value.length > 0 && value.every(covered)
const isNames: IsExact = (value) => Array.isArray(value) && value.every((name) => typeof name === 'string')
const isNamedParts: IsExact = (value, covered) =>
  isJsonObject(value) && Object.values(value).every((part) => part !== undefined && covered(part))

const typeNames: readonly Json[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/** Keywords whose check accepts what the keyword accepts and nothing else. Absent: `format`, `pattern`, `uniqueItems`, `multipleOf` and all unknown ones. */
const exactKeywords: ReadonlyMap<string, IsExact> = new Map<string, IsExact>([
  ['type', (value) => (Array.isArray(value) ? value : [value]).every((name) => typeNames.includes(name))],
  ['enum', (value) => Array.isArray(value)],
  ['const', isAnything],
  ['properties', isNamedParts],
  ['required', isNames],
  ['additionalProperties', isPart],
  ['items', (value, covered) => (Array.isArray(value) ? value.every(covered) : covered(value))],
  ['prefixItems', isParts],
  ['additionalItems', (value, covered, { items }) => Array.isArray(items) && covered(value)],
  ['minItems', isNumber],
  ['maxItems', isNumber],
  ['minLength', isNumber],
  ['maxLength', isNumber],
  ['minimum', isNumber],
  ['maximum', isNumber],
  ['exclusiveMinimum', isNumber],
  ['exclusiveMaximum', isNumber],
  ['anyOf', isParts],
  // One form that fits is enough for the check, and a second one is excluded by the keyword.
  ['oneOf', (value, covered, schema) => isParts(value, covered, schema) && Array.isArray(value) && value.length === 1],
  ['allOf', isParts],
  ['not', isPart],
  ...['title', 'description', 'default', 'examples', '$comment', '$defs', 'definitions', 'deprecated'].map(
    (name) => [name, isAnything] as const,
  ),
])

/** Parts of a schema that are looked at: what has more of them does not exclude anything. A chain of `not` is walked anew from each of its links. */
const mostParts = 1_000

/**
 * Whether the check of a schema is exact: a value that it accepts fits the schema for certain. A keyword that is not checked, here or in a
 * part of it, makes the answer no. Then a `not` around it excludes nothing.
 */
export function isFullyChecked(schema: unknown, targetOf: TargetOf): boolean {
  const parts = new Set<JsonObject>()
  /** Every part must be exact, so they are looked at one after another. One that names itself is as exact as the rest of it. */
  const covered = (part: unknown): boolean =>
    typeof part === 'boolean' || (isJsonObject(part) && parts.size <= mostParts && parts.add(part).has(part))
  if (!covered(schema)) return false
  for (const part of parts) {
    if (parts.size > mostParts) return false
    for (const [keyword, value] of Object.entries(part)) {
      if (value === undefined) continue
      const isExact =
        keyword === '$ref'
          ? typeof value === 'string' && covered(targetOf(value))
          : exactKeywords.get(keyword)?.(value, covered, part) === true
      if (!isExact) return false
    }
  }
  return true
}
