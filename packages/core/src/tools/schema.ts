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
  stepsPerItem,
  acceptAll,
  maxProblems,
  noProblems,
  positionName,
  spend,
  problemOfValue,
  type Check,
  type PartOf,
  type Validation,
} from './schema-check.ts'
import { forbidden, moreProblems, tooDeep } from './schema-texts.ts'

/** Returns the problems of a value, as texts for a model; empty if it fits. */
export type SchemaCheck = (value: unknown) => readonly string[]

/** Maximum nesting of schema parts in a check: each field, element, alternative and `$ref` is one level. The stack allows far more. */
const maxLevels = 500

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
  const cached = compiled.get(schema)
  if (cached !== undefined) return cached
  const check = checkOf(schema)
  compiled.set(schema, check)
  return check
}

/** Compiles a schema and checks a value. */
export function schemaProblems(schema: JsonObject, value: unknown): readonly string[] {
  return compileSchema(schema)(value)
}

function checkOf(schema: JsonObject): SchemaCheck {
  const check = hasKnownKeywords(schema) ? partsOf(resourceOf(schema))(schema) : acceptAll
  return (value) => {
    const validation: Validation = { level: 0, steps: 0, exceeded: undefined }
    const problems = check(value, validation)
    if (validation.exceeded !== undefined) return [validation.exceeded]
    if (problems === noProblems) return noMessages
    const messages = problems.slice(0, maxProblems).map(({ path, message }) => `${positionName(path)} ${message}`)
    return problems.length > maxProblems ? [...messages, moreProblems] : messages
  }
}

const noMessages: readonly string[] = Object.freeze([])

/** Compiles each part of a schema when it is first used, so that a schema may refer to itself. */
function partsOf(resource: SchemaResource): PartOf {
  const parts = new Map<JsonObject, Check>()
  const partOf: PartOf = (schema) => {
    if (!isJsonObject(schema)) return schema === false ? rejectAll : acceptAll
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
  return (value, validation) => {
    check ??= keywordsOf(schema, resource, noting)
    // A check without parts cannot recurse.
    if (!hasParts) return spend(validation, stepsPerItem) ? check(value, validation) : noProblems
    if (!isWithinBounds(validation)) return noProblems
    validation.level++
    const problems = check(value, validation)
    validation.level--
    return problems
  }
}

function isWithinBounds(validation: Validation): boolean {
  if (validation.exceeded !== undefined) return false
  if (validation.level >= maxLevels) validation.exceeded = tooDeep
  return spend(validation, 1)
}

const rejectAll: Check = () => problemOfValue(forbidden)
