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

/** Returns the problems of a value, as texts for a model; empty if it fits. */
export type SchemaCheck = (value: unknown) => readonly string[]

/** Maximum nesting of schema parts in a check: each field, element, alternative and `$ref` is one level. The stack allows far more. */
const mostLevels = 500

const compiled = new WeakMap<JsonObject, SchemaCheck>()

/**
 * Compiles a JSON Schema to a function that checks values. Cached per schema object: later changes to it have no effect.
 * Supported for tool inputs: type, enum, const; properties, required, additionalProperties; items, prefixItems,
 * minItems, maxItems, uniqueItems (of strings, numbers, booleans and null); minimum, maximum, exclusiveMinimum,
 * exclusiveMaximum, multipleOf; minLength, maxLength; anyOf, oneOf (one matching alternative is enough), allOf, not;
 * `$ref` within the schema (`#`, `#/$defs/name`).
 * Other keywords are ignored, also within `not`. This includes `pattern`, because a regular expression may take forever:
 * use a tool's `validate` for more. A schema whose `$schema` names another vocabulary than JSON Schema accepts any
 * value.
 * A value that is nested too deeply (some hundred levels) or too large (a million comparisons; items, names and
 * characters count as fractions) does not fit, and that is the only reported problem.
 */
export function compileSchema(schema: JsonObject): SchemaCheck {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const check = checkOf(schema)
  compiled.set(schema, check)
  return check
}

/** Compiles a schema and checks a value. */
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

/** Compiles each part of a schema when it is first used, so that a schema may refer to itself. */
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
    // A check without parts cannot recurse.
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
