import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'

/** A service refuses the whole request for one schema that is none: what cannot be shown as it is, is shown as any object. */
export type ShownSchema =
  | { readonly kind: 'as given' | 'without its top'; readonly schema: JsonObject }
  | { readonly kind: 'any object'; readonly schema: JsonObject; readonly problem: string }

const anyObject: JsonObject = Object.freeze({ type: 'object' })

/** Characters of one schema as JSON. */
const mostCharacters = 32_768
const mostNodes = 4_000
const deepest = 24

/** The schema of a tool's input as a model may be shown it. The server checks its own inputs in any case. */
export function shownSchemaOf(given: unknown): ShownSchema {
  if (!isJsonObject(given)) return whole('it is no object')
  const problem = problemOf(given)
  if (problem !== undefined) return whole(problem)
  // The Messages API takes no alternatives at the top of an input.
  const { anyOf, oneOf, allOf, not, enum: one, const: same, $schema: _, ...rest } = given
  const isChanged = [anyOf, oneOf, allOf, not, one, same].some((part) => part !== undefined)
  return { kind: isChanged ? 'without its top' : 'as given', schema: { ...rest, type: 'object' } }
}

function whole(problem: string): ShownSchema {
  return { kind: 'any object', schema: anyObject, problem }
}

const types: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])
const ofSchema = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalItems', 'unevaluatedItems', 'unevaluatedProperties'] // prettier-ignore
const ofSchemas = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const
const ofNamed = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'] as const
const ofNumber = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const
const ofCount = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains', 'maxContains'] // prettier-ignore
const ofText = ['title', 'description', 'format', '$ref', '$id', '$comment', '$schema', '$anchor', '$dynamicRef', '$dynamicAnchor', 'contentEncoding', 'contentMediaType'] // prettier-ignore
const ofTruth = ['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'] as const

function problemOf(schema: JsonObject): string | undefined {
  if (schema['type'] !== undefined && schema['type'] !== 'object') return 'it is not of an object'
  if (JSON.stringify(schema).length > mostCharacters) return `it is longer than ${mostCharacters} characters`
  let nodes = 0
  const check = (node: Json | undefined, depth: number): string | undefined => {
    if (node === undefined || typeof node === 'boolean') return undefined
    if (!isJsonObject(node)) return 'a part of it is no schema'
    if (++nodes > mostNodes || depth > deepest) return 'it is nested too deeply'
    const own = wrongKeyword(node)
    if (own !== undefined) return own
    for (const name of ofNamed) {
      const parts = node[name]
      if (parts === undefined) continue
      if (!isJsonObject(parts)) return `${name} is no object`
      for (const [key, part] of Object.entries(parts)) {
        if (name === 'properties' && !/^[\w.-]{1,64}$/.test(key)) return 'a property has a name that services refuse'
        if (name === 'patternProperties' && !isPattern(key)) return 'a pattern in it is none'
        const problem = check(part, depth + 1)
        if (problem !== undefined) return problem
      }
    }
    for (const name of ofSchemas) {
      const parts = node[name]
      if (parts === undefined) continue
      if (!Array.isArray(parts) || parts.length === 0) return `${name} is no list of schemas`
      for (const part of parts) {
        const problem = check(part, depth + 1)
        if (problem !== undefined) return problem
      }
    }
    for (const name of ofSchema) {
      const part = node[name]
      // The form of an earlier draft: a list of schemas, which later ones refuse.
      if (Array.isArray(part)) return `${name} is a list`
      const problem = check(part, depth + 1)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  return check(schema, 0)
}

function wrongKeyword(node: JsonObject): string | undefined {
  const { type, required, enum: values, pattern } = node
  const kinds = Array.isArray(type) ? type : [type]
  if (type !== undefined && (kinds.length === 0 || !kinds.every((kind) => types.has(kind)) || isTwice(kinds)))
    return 'a type in it is none'
  if (required !== undefined && !isListOfTexts(required)) return 'required is no list of names'
  if (values !== undefined && (!Array.isArray(values) || values.length === 0)) return 'an enum in it is no list'
  const number = ofNumber.find((name) => node[name] !== undefined && typeof node[name] !== 'number')
  if (number !== undefined) return `${number} is no number`
  if (Number(node['multipleOf'] ?? 1) <= 0) return 'multipleOf is not above zero'
  const count = ofCount.find((name) => node[name] !== undefined && !isCount(node[name]))
  if (count !== undefined) return `${count} is no whole number`
  const truth = ofTruth.find((name) => node[name] !== undefined && typeof node[name] !== 'boolean')
  if (truth !== undefined) return `${truth} is neither true nor false`
  const { examples, dependentRequired } = node
  if (examples !== undefined && !Array.isArray(examples)) return 'examples is no list'
  if (dependentRequired !== undefined && !isListsByName(dependentRequired))
    return 'dependentRequired has no lists of names'
  const text = ofText.find((name) => node[name] !== undefined && typeof node[name] !== 'string')
  if (text !== undefined) return `${text} is no text`
  return pattern === undefined || isPattern(pattern) ? undefined : 'a pattern in it is none'
}

function isListOfTexts(value: Json): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') && !isTwice(value)
}

function isListsByName(value: Json): boolean {
  return isJsonObject(value) && Object.values(value).every((list) => list !== undefined && isListOfTexts(list))
}

function isTwice(values: readonly unknown[]): boolean {
  return new Set(values).size !== values.length
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0
}

function isPattern(value: Json): boolean {
  if (typeof value !== 'string') return false
  try {
    return RegExp(value, 'u') instanceof RegExp
  } catch {
    return false
  }
}
