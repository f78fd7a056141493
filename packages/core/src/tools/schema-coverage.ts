import { isJsonObject, type Json, type JsonObject } from '../values/json.ts'

/** Resolves a `$ref`; undefined if it is not followed. */
export type TargetOf = (reference: string) => unknown

/** Whether the check of a keyword accepts exactly the values that the keyword allows. `covered` adds a part of the schema that must be exact too. */
type IsExact = (value: Json, covered: (part: unknown) => boolean, schema: JsonObject) => boolean

const isNumber: IsExact = (value) => typeof value === 'number'
const isAnything: IsExact = () => true
const isPart: IsExact = (value, covered) => covered(value)
const isParts: IsExact = (value, covered) => Array.isArray(value) && value.length > 0 && value.every(covered)
const isNames: IsExact = (value) => Array.isArray(value) && value.every((name) => typeof name === 'string')
const isNamedParts: IsExact = (value, covered) =>
  isJsonObject(value) && Object.values(value).every((part) => part !== undefined && covered(part))

const typeNames: readonly Json[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/**
 * Keywords whose check accepts exactly the values that the keyword allows. `format`, `pattern`, `uniqueItems`,
 * `multipleOf` and all unknown keywords are not included.
 */
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
  // The check accepts a value that fits one or more alternatives. The `oneOf` keyword rejects a value that fits two.
  ['oneOf', (value, covered, schema) => isParts(value, covered, schema) && Array.isArray(value) && value.length === 1],
  ['allOf', isParts],
  ['not', isPart],
  ...['title', 'description', 'default', 'examples', '$comment', '$defs', 'definitions', 'deprecated'].map(
    (name) => [name, isAnything] as const,
  ),
])

/** Maximum number of schema parts that are inspected. In a larger schema, `not` excludes nothing. Each link of a chain of `not` is inspected again. */
const maxParts = 1_000

/**
 * Whether the check of a schema is exact: every value that it accepts is certain to fit. If the schema or one of its
 * parts has a keyword that is not checked, the answer is false. A `not` around such a schema excludes nothing.
 */
export function isFullyChecked(schema: unknown, targetOf: TargetOf): boolean {
  const parts = new Set<JsonObject>()
  /** Adds a part to inspect: all of them must be exact. A recursive part is as exact as the rest of it. */
  const covered = (part: unknown): boolean =>
    typeof part === 'boolean' || (isJsonObject(part) && parts.size <= maxParts && parts.add(part).has(part))
  if (!covered(schema)) return false
  for (const part of parts) {
    if (parts.size > maxParts) return false
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
