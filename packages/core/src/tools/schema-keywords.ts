import { isJsonObject, isSameJson, type Json, type JsonObject } from '../values/json.ts'
import {
  stepsPerPart,
  acceptAll,
  withProblemsAt,
  maxProblems,
  noProblems,
  spend,
  problemOfValue,
  type Check,
  type PartOf,
} from './schema-check.ts'
import { isFullyChecked, type TargetOf } from './schema-coverage.ts'
import { listCheck, numberCheck, objectCheck, stringCheck } from './schema-kinds.ts'
import { forbiddenForm, notOneOf, notTheValue, wrongForm, wrongType } from './schema-texts.ts'

/** The scope that references within a schema refer to. */
export interface SchemaResource {
  readonly root: JsonObject
  /** Whether the schema is of a draft up to 7, which ignores keywords next to a `$ref`. */
  readonly isLegacy: boolean
  /** Cache of resolved references. */
  readonly targets: Map<string, unknown>
}

/** The scope of a tool's complete schema. Without `$schema`, a draft up to 7 is recognized by `definitions`, which later drafts call `$defs`. */
export function resourceOf(root: JsonObject): SchemaResource {
  const { $schema: draft, definitions, $defs } = root
  const isLegacy =
    typeof draft === 'string' ? /\/draft-0[3-7]\/schema/.test(draft) : definitions !== undefined && $defs === undefined
  return { root, isLegacy, targets: new Map() }
}

/** The scope of a part of a schema whose references refer to that part. */
export function innerResource({ isLegacy }: SchemaResource, root: JsonObject): SchemaResource {
  return { root, isLegacy, targets: new Map() }
}

/** Whether the keywords are those of JSON Schema. Those of another vocabulary may mean anything. */
export function hasKnownKeywords({ $schema: draft }: JsonObject): boolean {
  return typeof draft !== 'string' || !/^https?:/i.test(draft) || /^https?:\/\/json-schema\.org\//i.test(draft)
}

/** Whether references in a part of a schema refer to that part alone. */
export function hasOwnReferences({ $id: id }: JsonObject): boolean {
  return typeof id === 'string' && !id.startsWith('#')
}

/**
 * The check of one schema object. If a value fits no alternative, has the wrong type or is not one of the choices, only
 * that is reported, because the other keywords apply to values of the right type.
 */
export function keywordsOf(schema: JsonObject, { root, isLegacy, targets }: SchemaResource, partOf: PartOf): Check {
  const targetOf: TargetOf = (reference) => {
    if (!targets.has(reference)) targets.set(reference, referenced(root, reference))
    return targets.get(reference)
  }
  const { $ref: reference } = schema
  if (typeof reference === 'string' && isLegacy) return refCheck(reference, targetOf, partOf) ?? acceptAll
  const gates = withoutUndefined([
    alternativesCheck(schema['anyOf'], partOf),
    alternativesCheck(schema['oneOf'], partOf),
    typeCheck(schema['type']),
    enumCheck(schema['enum']),
    'const' in schema ? constCheck(schema['const']) : undefined,
  ])
  const otherChecks = withoutUndefined([
    refCheck(reference, targetOf, partOf),
    ...(Array.isArray(schema['allOf']) ? schema['allOf'].map(partOf) : []),
    notCheck(schema['not'], targetOf, partOf),
    numberCheck(schema),
    stringCheck(schema),
    listCheck(schema, partOf),
    objectCheck(schema, partOf),
  ])
  return inSequence(firstProblems(gates), allProblems(otherChecks))
}

/** Reports the problems of the first check that has any. */
function firstProblems(checks: readonly Check[]): Check | undefined {
  if (checks.length <= 1) return checks[0]
  return (value, validation) => {
    for (const check of checks) {
      const problems = check(value, validation)
      if (problems !== noProblems) return problems
    }
    return noProblems
  }
}

/** Reports the problems of all checks. */
function allProblems(checks: readonly Check[]): Check | undefined {
  if (checks.length <= 1) return checks[0]
  return (value, validation) => {
    let found = noProblems
    for (const check of checks) {
      found = withProblemsAt(found, check(value, validation))
      if (found.length > maxProblems) break
    }
    return found
  }
}

function inSequence(gate: Check | undefined, otherChecks: Check | undefined): Check {
  if (gate === undefined) return otherChecks ?? acceptAll
  if (otherChecks === undefined) return gate
  return (value, validation) => {
    const problems = gate(value, validation)
    return problems === noProblems ? otherChecks(value, validation) : problems
  }
}

function withoutUndefined(checks: readonly (Check | undefined)[]): readonly Check[] {
  return checks.filter((check) => check !== undefined)
}

/** One alternative that fits is enough, even for `oneOf`: a value that fits a second one is accepted too. */
function alternativesCheck(forms: Json | undefined, partOf: PartOf): Check | undefined {
  if (!Array.isArray(forms)) return undefined
  const checks = forms.map(partOf)
  const problem = problemOfValue(wrongForm)
  return (value, validation) => (checks.some((check) => check(value, validation) === noProblems) ? noProblems : problem)
}

function typeCheck(type: Json | undefined): Check | undefined {
  const names = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string')
  const [only, ...more] = [...new Set(names)].map(typeTest)
  if (only === undefined) return undefined
  const fits = more.length === 0 ? only : (value: unknown) => only(value) || more.some((test) => test(value))
  return (value) => (fits(value) ? noProblems : problemOfValue(wrongType(names, nameOf(value))))
}

function typeTest(type: string): (value: unknown) => boolean {
  switch (type) {
    case 'object':
      return isJsonObject
    case 'array':
      return Array.isArray
    case 'integer':
      return Number.isInteger
    case 'null':
      return (value) => value === null
    case 'string':
    case 'number':
    case 'boolean':
      return (value) => typeof value === type
    default:
      return () => true
  }
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function enumCheck(allowed: Json | undefined): Check | undefined {
  if (!Array.isArray(allowed)) return undefined
  const values: readonly unknown[] = allowed
  const problem = problemOfValue(notOneOf(values.map((option) => JSON.stringify(option))))
  const simple = new Set(values.filter((option) => typeof option !== 'object' || option === null))
  const complexValues = values.filter((option) => typeof option === 'object' && option !== null)
  return (value, validation) => {
    const spendParts = (parts: number): boolean => spend(validation, parts * stepsPerPart)
    return simple.has(value) || complexValues.some((option) => isSameJson(option, value, spendParts))
      ? noProblems
      : problem
  }
}

function constCheck(constant: Json | undefined): Check {
  const problem = problemOfValue(notTheValue(JSON.stringify(constant)))
  return (value, validation) =>
    isSameJson(constant, value, (parts) => spend(validation, parts * stepsPerPart)) ? noProblems : problem
}

/** A partial check may accept a value that does not fit, so only an exact check can exclude a value. */
function notCheck(excluded: Json | undefined, targetOf: TargetOf, partOf: PartOf): Check | undefined {
  if (excluded === undefined || !isFullyChecked(excluded, targetOf)) return undefined
  const check = partOf(excluded)
  const problem = problemOfValue(forbiddenForm)
  return (value, validation) => (check(value, validation) === noProblems ? problem : noProblems)
}

/** Follows a reference within the same schema. A reference to a missing part or to another schema is ignored. */
function refCheck(reference: Json | undefined, targetOf: TargetOf, partOf: PartOf): Check | undefined {
  if (typeof reference !== 'string') return undefined
  const target = targetOf(reference)
  return target === undefined ? undefined : partOf(target)
}

/** Resolves a JSON Pointer in a URI fragment. */
function referenced(root: JsonObject, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let found: unknown = root
  for (const part of reference.slice(2).split('/')) {
    const name = unescaped(part)
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    if (found !== root && isJsonObject(found) && hasOwnReferences(found)) return undefined
    found = Reflect.get(found, name)
  }
  return found
}

function unescaped(part: string): string {
  let decoded = part
  try {
    decoded = decodeURIComponent(part)
  } catch {
    // A `%` that is not part of an escape is part of the name.
  }
  return decoded.replaceAll('~1', '/').replaceAll('~0', '~')
}
