import { isJsonObject } from '../../src/entries/adapters.ts'
import type { JsonObject } from '../../src/index.ts'

/** The earlier checker, which reads the schema anew at every call. `compileSchema` is compared with it. */
export function interpretedProblems(schema: JsonObject, value: unknown, path = ''): readonly string[] {
  const where = path === '' ? 'the input' : path
  const choices = schema['anyOf'] ?? schema['oneOf']
  if (
    Array.isArray(choices) &&
    !choices.some((choice) => isJsonObject(choice) && interpretedProblems(choice, value, path).length === 0)
  ) {
    return [`${where} matches none of the allowed forms`]
  }
  const types = typesOf(schema)
  if (types.length > 0 && !types.some((type) => hasType(type, value)))
    return [`${where} must be ${types.join(' or ')}, not ${nameOf(value)}`]
  const allowed = schema['enum']
  if (Array.isArray(allowed) && !allowed.some((option) => option === value)) {
    return [`${where} must be one of ${allowed.map((option) => JSON.stringify(option)).join(', ')}`]
  }
  if ('const' in schema && schema['const'] !== value) return [`${where} must be ${JSON.stringify(schema['const'])}`]
  if (typeof value === 'number') return numberProblems(schema, value, where)
  if (typeof value === 'string') return atLeast(schema['minLength'], value.length, where, 'character')
  if (Array.isArray(value)) return listProblems(schema, value, where, path)
  return isJsonObject(value) ? objectProblems(schema, value, path) : []
}

function objectProblems(schema: JsonObject, value: JsonObject, path: string): readonly string[] {
  const problems: string[] = []
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  for (const name of required) {
    if (typeof name === 'string' && (!Object.hasOwn(value, name) || value[name] === undefined))
      problems.push(`${inside(path, name)} is missing`)
  }
  for (const [name, part] of Object.entries(value)) {
    const partSchema = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (part === undefined) continue
    if (isJsonObject(partSchema)) problems.push(...interpretedProblems(partSchema, part, inside(path, name)))
    else if (schema['additionalProperties'] === false) {
      problems.push(`${inside(path, name)} is an unknown field; ${knownFields(Object.keys(properties))}`)
    }
  }
  return problems
}

function listProblems(schema: JsonObject, value: readonly unknown[], where: string, path: string): readonly string[] {
  const short = atLeast(schema['minItems'], value.length, where, 'item')
  const { items } = schema
  if (!isJsonObject(items)) return short
  return [...short, ...value.flatMap((item, index) => interpretedProblems(items, item, `${path}[${index}]`))]
}

function numberProblems(schema: JsonObject, value: number, where: string): readonly string[] {
  const { minimum, maximum } = schema
  if (typeof minimum === 'number' && value < minimum) return [`${where} must be at least ${minimum}`]
  if (typeof maximum === 'number' && value > maximum) return [`${where} must be at most ${maximum}`]
  return []
}

function atLeast(minimum: unknown, length: number, where: string, unit: string): readonly string[] {
  return typeof minimum === 'number' && length < minimum
    ? [`${where} must have at least ${minimum} ${unit}${minimum === 1 ? '' : 's'}`]
    : []
}

function typesOf(schema: JsonObject): readonly string[] {
  const { type } = schema
  if (typeof type === 'string') return [type]
  return Array.isArray(type) ? type.filter((name) => typeof name === 'string') : []
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case 'object':
      return isJsonObject(value)
    case 'array':
      return Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    case 'null':
      return value === null
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
    default:
      return true
  }
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function inside(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function knownFields(names: readonly string[]): string {
  return names.length === 0 ? 'there are no fields' : `the fields are ${names.join(', ')}`
}
