import { ConfigurationError } from '@halting/core'
import type { Json, JsonObject } from '@halting/core'
import { isJsonObject, wellFormedJson } from '@halting/core/adapters'
import { stringOf } from '../json-fields.ts'

/** Tool options of the Messages API besides the definition, with the service's field names. */
export interface MessagesToolOptions {
  /**
   * Who may call the tool (default: only the model): `direct` for the model itself, `code_execution_…` for code that it
   * runs at the service, which must be among `serverTools`.
   */
  readonly allowed_callers?: readonly string[] | undefined
  /** Whether the model sees the tool only after finding it with a tool search. */
  readonly defer_loading?: boolean | undefined
  /** Example inputs. */
  readonly input_examples?: readonly JsonObject[] | undefined
  /** Whether the service enforces the schema. */
  readonly strict?: boolean | undefined
  /** Whether the input streams as it is written, without a check by the service. */
  readonly eager_input_streaming?: boolean | undefined
}

/** Options by tool name. Tools that a request does not have are ignored. */
export type ToolOptionsByName = Readonly<Record<string, MessagesToolOptions>>

const isFlag = (value: unknown): boolean => typeof value === 'boolean'

/** For each option the valid values, in words and as a check. */
const fields: { readonly [Field in keyof MessagesToolOptions]-?: readonly [string, (value: unknown) => boolean] } = {
  allowed_callers: [
    "a list of 'direct' and names such as 'code_execution_20260120'",
    (value) =>
      isListOf(value, (caller) => typeof caller === 'string' && /^(direct|code_execution_\d{8})$/.test(caller)),
  ],
  defer_loading: ['true or false', isFlag],
  input_examples: ['a list of inputs, which are objects', (value) => isListOf(value, isJsonObject)],
  strict: ['true or false', isFlag],
  eager_input_streaming: ['true or false', isFlag],
}

function isListOf(value: unknown, isOne: (part: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isOne)
}

/**
 * Returns tool options as JSON fields, by tool name.
 * @throws ConfigurationError for what the service would reject in every request.
 */
export function toolFieldsOf(
  given: ToolOptionsByName | undefined,
  serverTools: readonly JsonObject[],
): ReadonlyMap<string, JsonObject> {
  if (given === undefined) return new Map()
  // JavaScript programs may pass anything.
  if (!isJsonObject(given)) refuse('toolOptions', 'options by the names of tools, such as { Read: { strict: true } }')
  const byName = new Map<string, JsonObject>()
  for (const [name, options] of Object.entries(given as ToolOptionsByName)) {
    const place = `toolOptions.${name}`
    if (!/^[\w-]{1,128}$/.test(name)) refuse(place, 'under a name that a tool can have: letters, digits, _ and -')
    if (!isJsonObject(options)) refuse(place, `an object with ${Object.keys(fields).join(', ')}`)
    const definedOptions = Object.entries(options).filter(([, value]) => value !== undefined)
    for (const [field, value] of definedOptions) checkField(`${place}.${field}`, field, value)
    checkTogether(place, options, serverTools)
    byName.set(name, wellFormedJson(Object.fromEntries(definedOptions)))
  }
  return byName
}

function checkField(place: string, field: string, value: unknown): void {
  if (!Object.hasOwn(fields, field)) refuse(place, `one of ${Object.keys(fields).join(', ')}`)
  // `hasOwn` was checked.
  const [words, isOne] = fields[field as keyof MessagesToolOptions]
  if (!isOne(value)) refuse(place, words)
}

function checkTogether(place: string, options: MessagesToolOptions, serverTools: readonly JsonObject[]): void {
  const byCode = options.allowed_callers?.find((caller) => caller !== 'direct')
  if (byCode === undefined) return
  if (!serverTools.some(({ type }) => isCodeTool(type))) {
    const tool = `{ type: '${byCode}', name: 'code_execution' }`
    throw new ConfigurationError(
      `${place} allows calls by ${byCode}, which is not in serverTools. Add ${tool} to serverTools.`,
    )
  }
  if (options.strict === true) {
    throw new ConfigurationError(
      `${place} cannot be strict and callable by code. Remove strict, or allow only 'direct'.`,
    )
  }
}

function refuse(place: string, wanted: string): never {
  throw new ConfigurationError(`${place} must be ${wanted}.`)
}

/** Whether a server tool of this type runs code. */
export function isCodeTool(type: Json | undefined): boolean {
  return stringOf(type).startsWith('code_execution_')
}

/** Whether the model sees the tool only after finding it, so that it cannot have a breakpoint. */
export function isDeferred(tool: JsonObject): boolean {
  return tool.defer_loading === true
}
