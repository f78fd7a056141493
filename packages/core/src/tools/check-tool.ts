import { isModel, isOutput } from './check-options.ts'
import { ConfigurationError } from '../values/errors.ts'
import {
  checkField,
  fieldsOf,
  isEither,
  isFunction,
  isListOf,
  isName,
  isObject,
  isText,
  isYesOrNo,
  optional,
  throwInvalidOption,
  describeValue,
  type Fields,
  type Validator,
} from '../values/validators.ts'
import type { Model } from '../model/model.ts'
import { toolsByName } from './definitions.ts'
import type { AnyTool } from './tool.ts'

/** A name that every service accepts: the Messages API allows up to 128 characters, others fewer (`Model.maxToolNameLength`). */
const isToolName: Validator = (name, value) => {
  isName(name, value)
  if (typeof value !== 'string' || /^[\w-]{1,128}$/.test(value)) return
  const rule = 'Names of tools are 1 to 128 letters (A to Z), digits, _ and -: services refuse others.'
  throw new ConfigurationError(`The tool name ${JSON.stringify(value.slice(0, 200))} is not allowed. ${rule}`)
}

/** @throws ConfigurationError for a tool name that one of the models does not accept. */
export function checkToolNames(tools: readonly AnyTool[], models: readonly Model[]): void {
  for (const { id, maxToolNameLength = Infinity } of models) {
    const long = tools.find(({ name }) => name.length > maxToolNameLength)
    if (long === undefined) continue
    throw new ConfigurationError(
      `The tool name ${long.name} has ${long.name.length} characters, and ${id} takes ${maxToolNameLength} at most. Give the tool a shorter name.`,
    )
  }
}

/** For `readOnly` and `needsApproval`. */
const isYesOrFunction: Validator = (name, value) => {
  if (typeof value !== 'boolean' && typeof value !== 'function')
    throwInvalidOption(name, 'true, false or a function', value)
}

/** Optional fields of tools besides name, description, schema and the function itself. */
const optionalFields: readonly (readonly [field: string, check: Validator])[] = [
  ['readOnly', optional(isYesOrFunction)],
  ['concurrencySafe', optional(isYesOrNo)],
  ['onUnknownOutcome', optional(isEither('rerun', 'tell'))],
  ['asksModel', optional(isYesOrNo)],
  ['waits', optional(isYesOrNo)],
  ['editsFiles', optional(isYesOrNo)],
  ['offeredTo', optional(isFunction)],
  ['canonicalInput', optional(isFunction)],
  ['needsApproval', optional(isYesOrFunction)],
  ['validate', optional(isFunction)],
  ['precheck', optional(isFunction)],
  ['models', optional(isListOf(isModel))],
]

const isSchema = isObject('an object')

/** Tools that have been validated: each run of a program has the same ones. */
const validTools = new WeakSet<object>()

/** A tool of any kind. */
export const isAnyTool: Validator = (name, value) => {
  const fields = fieldsOf(value) ?? throwInvalidOption(name, 'a tool, as tool() makes it', value)
  if (validTools.has(fields)) return
  checkField(`${name}.name`, fields, 'name', isToolName)
  checkField(`${name}.description`, fields, 'description', isText)
  checkField(`${name}.inputSchema`, fields, 'inputSchema', isSchema)
  const work = 'spawn' in fields ? 'spawn' : 'execute'
  checkField(`${name}.${work}`, fields, work, isFunction)
  for (const [field, check] of optionalFields) checkField(`${name}.${field}`, fields, field, check)
  checkWaits(name, fields)
  // Marked as valid before its parts are checked, because tools of agents may refer back to it.
  validTools.add(fields)
  try {
    if (work === 'spawn') checkPartsOfAgent(name, fields)
  } catch (error) {
    validTools.delete(fields)
    throw error
  }
}

function checkPartsOfAgent(name: string, fields: Fields): void {
  checkField(`${name}.output`, fields, 'output', optional(isOutput))
  checkField(`${name}.tools`, fields, 'tools', optional(isTools))
}

/** A list of tools with unique names. */
export const isTools: Validator = (name, value) => {
  isListOf(isAnyTool)(name, value)
  // Checked above.
  toolsByName(value as readonly AnyTool[])
}

/** Names of tool fields in other libraries, with our names. */
const otherNames: readonly (readonly [theirs: string, ours: string])[] = [
  ['input', 'inputSchema'],
  ['parameters', 'inputSchema'],
  ['schema', 'inputSchema'],
  ['input_schema', 'inputSchema'],
  ['handler', 'execute'],
  ['run', 'execute'],
]

/**
 * Validates the options of `tool` and `agentTool` except the schema. `work`: the name of the required function;
 * undefined for an agent without `spawn`.
 * @throws ConfigurationError
 */
export function checkToolOptions(maker: string, work: 'execute' | 'spawn' | undefined, value: unknown): void {
  const fields = fieldsOf(value)
  if (fields === undefined)
    return throwInvalidOption(`${maker}()`, `given an object with name, description and ${work ?? 'system'}`, value)
  isName('The name of a tool', fields['name'])
  const name = String(fields['name'])
  const misnamed = otherNames.find(([otherName]) => otherName in fields)
  if (misnamed !== undefined)
    throw new ConfigurationError(`A tool has no ${misnamed[0]}: give it as ${misnamed[1]}. (The tool is ${name}.)`)
  isText(`The description of ${name}`, fields['description'])
  if (work !== undefined) isFunction(`The ${work} of ${name}`, fields[work])
  for (const [field, check] of optionalFields) check(`The ${field} of ${name}`, fields[field])
  checkWaits(name, fields)
}

/**
 * Refuses a tool that both waits and asks a model: the questions of a call are recorded in separate steps, but the start
 * of a wait in the step of the call.
 */
function checkWaits(name: string, { waits, asksModel }: { readonly [field: string]: unknown }): void {
  if (waits === true && asksModel === true)
    throw new ConfigurationError(`A tool has either waits or asksModel, and ${name} has both. Make two tools of it.`)
}

const keywords: ReadonlySet<string> = new Set([
  '$ref', '$schema', '$defs', '$id', '$comment', 'type', 'title', 'description', 'properties', 'required', 'additionalProperties',
  'patternProperties', 'propertyNames', 'minProperties', 'maxProperties', 'unevaluatedProperties', 'dependentRequired',
  'dependentSchemas', 'definitions', 'default', 'examples', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else',
]) // prettier-ignore

const types: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])

/** Validates a schema written for this tool; `what` names it. @throws ConfigurationError for a schema without keywords, or with an invalid type. */
export function checkWrittenSchema(what: string, schema: object): void {
  const schemaKeywords = Object.keys(schema)
  if (schemaKeywords.length > 0 && !schemaKeywords.some((keyword) => keywords.has(keyword)))
    throw new ConfigurationError(
      `${what} is not a JSON Schema: it only contains ${schemaKeywords.join(', ')}. Use { type: 'object', properties: { … } }.`,
    )
  checkTypes(what, schema)
}

function checkTypes(what: string, schema: unknown): void {
  const { type, properties, items } = fieldsOf(schema) ?? {}
  for (const each of Array.isArray(type) ? type : [type]) {
    if (each === undefined || types.has(each)) continue
    const knownTypes = [...types].join(', ')
    throw new ConfigurationError(
      `${what} has an unknown JSON Schema type: ${describeValue(each)}. Known types: ${knownTypes}.`,
    )
  }
  for (const part of Object.values(fieldsOf(properties) ?? {})) checkTypes(what, part)
  if (items !== undefined) checkTypes(what, items)
}
