import { isJsonObject, type JsonObject } from '../values/json.ts'
import {
  hasKnownKeywords,
  hasOwnReferences,
  innerResource,
  keywordsOf,
  resourceOf,
  type SchemaResource,
} from './schema-keywords.ts'
import {
  aboutItem,
  accept,
  mostProblems,
  none,
  placeOf,
  spend,
  wrong,
  type Check,
  type PartOf,
  type Walk,
} from './schema-check.ts'
import { forbidden, moreProblems, tooDeep } from './schema-texts.ts'

/** Says what is wrong with a value, in words for a model; nothing when it fits. */
export type SchemaCheck = (value: unknown) => readonly string[]

/** Parts of the schema that may be checked within each other: a field, an element, a form, a `$ref` is one each. The stack bears far more. */
const mostLevels = 500

const compiled = new WeakMap<JsonObject, SchemaCheck>()

/**
 * Compiles a JSON Schema to a function that checks values, once for each schema object: what is changed in it afterwards is not seen.
 *
 * It knows what tool inputs use: type, enum, const; properties, required, additionalProperties; items, prefixItems, minItems, maxItems,
 * uniqueItems (of strings, numbers, booleans and null); minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf; minLength,
 * maxLength; anyOf, oneOf (one form that fits is enough), allOf, not; `$ref` within the schema (`#`, `#/$defs/name`).
 * Other keywords are not checked and make no value invalid, also within `not`. Neither is `pattern`, since an expression may take for ever:
 * use a tool's `validate` for more. A schema whose `$schema` names another vocabulary than JSON Schema accepts any value.
 *
 * A value that is nested too deeply (some hundred levels) or too large (a million comparisons, of which items, names
 * and characters count as parts) does not fit, and the only problem says so.
 */
export function compileSchema(schema: JsonObject): SchemaCheck {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const check = checkOf(schema)
  compiled.set(schema, check)
  return check
}

/** `compileSchema` and its check in one. */
export function schemaProblems(schema: JsonObject, value: unknown): readonly string[] {
  return compileSchema(schema)(value)
}

function checkOf(schema: JsonObject): SchemaCheck {
  const check = hasKnownKeywords(schema) ? partsOf(resourceOf(schema))(schema) : accept
  return (value) => {
    const walk: Walk = { level: 0, steps: 0, exceeded: undefined }
    const problems = check(value, walk)
    if (walk.exceeded !== undefined) return [walk.exceeded]
    if (problems === none) return noProblems
    const told = problems.slice(0, mostProblems).map(({ path, says }) => `${placeOf(path)} ${says}`)
    return problems.length > mostProblems ? [...told, moreProblems] : told
  }
}

const noProblems: readonly string[] = Object.freeze([])

/** Compiles each part of a schema when a value first comes to it, so that a schema may refer to itself. */
function partsOf(resource: SchemaResource): PartOf {
  const parts = new Map<JsonObject, Check>()
  const partOf: PartOf = (schema) => {
    if (!isJsonObject(schema)) return schema === false ? refuse : accept
    let part = parts.get(schema)
    if (part === undefined) {
      const isInner = schema !== resource.root && hasOwnReferences(schema)
      part = isInner ? partsOf(innerResource(resource, schema))(schema) : partFor(schema, resource, partOf)
      parts.set(schema, part)
    }
    return part
  }
  return partOf
}

function partFor(schema: JsonObject, resource: SchemaResource, partOf: PartOf): Check {
  let check: Check | undefined
  let hasParts = false
  const noting: PartOf = (inner) => {
    hasParts = true
    return partOf(inner)
  }
  return (value, walk) => {
    check ??= keywordsOf(schema, resource, noting)
    // What has nothing within it cannot go on for ever.
    if (!hasParts) return spend(walk, aboutItem) ? check(value, walk) : none
    if (!mayGoOn(walk)) return none
    walk.level++
    const problems = check(value, walk)
    walk.level--
    return problems
  }
}

function mayGoOn(walk: Walk): boolean {
  if (walk.exceeded !== undefined) return false
  if (walk.level >= mostLevels) walk.exceeded = tooDeep
  return spend(walk, 1)
}

const refuse: Check = () => wrong(forbidden)
