import { ConfigurationError } from '@halting/core'
import type { Credential } from './service/credential-source.ts'
import type { ServiceOptions } from './service/endpoint.ts'

/** The options of a model whose name is a separate argument. */
export type OptionsBesideName<Options extends { readonly model: string }> = Omit<Options, 'model'>

interface CallForm {
  /** Name of the function, for errors. */
  readonly name: string
  /** Example model of the service, for errors. */
  readonly sample: string
  /** Other arguments of the example, such as a required address. */
  readonly rest?: string
}

/**
 * Returns the options of `anthropic('name', { apiKey })` or `anthropic({ model: 'name', apiKey })`.
 * @throws ConfigurationError for anything else, with an example of a valid call.
 */
export function modelOptionsOf(form: CallForm, given: unknown, more: unknown): NamedOptions {
  if (typeof given === 'string') {
    if (more !== undefined && !isFields(more))
      throw new ConfigurationError(`The options of ${form.name} must be an object. ${validCallHint(form)}`)
    return checkedName(form, { ...more, model: given })
  }
  if (!isFields(given)) throw new ConfigurationError(`${form.name} expects the name of a model. ${validCallHint(form)}`)
  if (more !== undefined)
    throw new ConfigurationError(`${form.name} takes one object of options, or a name first. ${validCallHint(form)}`)
  return checkedName(form, given)
}

/** Option names of other libraries. Ignoring them could send a key to the wrong address. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['baseURL', 'baseUrl'],
  ['base_url', 'baseUrl'],
  ['apiBase', 'baseUrl'],
  ['endpoint', 'baseUrl'],
  ['api_key', 'apiKey'],
  ['apikey', 'apiKey'],
  ['key', 'apiKey'],
  ['auth_token', 'authToken'],
  ['defaultHeaders', 'headers'],
  ['modelName', 'model'],
])

function checkedName(form: CallForm, options: Fields): NamedOptions {
  for (const [theirs, ours] of otherNames)
    if (options[theirs] !== undefined)
      throw new ConfigurationError(`${form.name} has no option ${theirs}: it is ${ours}. ${validCallHint(form)}`)
  const { model } = options
  if (typeof model === 'string' && model.trim() !== '') return { ...options, model }
  const problem = typeof model === 'string' ? 'the name of the model is empty' : 'the name of the model is missing'
  throw new ConfigurationError(`${form.name}: ${problem}. ${validCallHint(form)}`)
}

type Fields = { readonly [field: string]: unknown }

/** Options with a model name. The other fields are validated where they are used. */
type NamedOptions = Fields & { readonly model: string }

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function validCallHint({ name, sample, rest = 'apiKey' }: CallForm): string {
  return `Call it like ${name}('${sample}', { ${rest} }) or ${name}({ model: '${sample}', ${rest} }).`
}

/**
 * Adds the key of the service's default variable if no credentials are given. It is only sent to the service's own
 * address: with a `baseUrl` no variable is read.
 */
export function withUsualKey<Options extends ServiceOptions>(options: Options, variable: string): Options {
  const { apiKey, authToken, credentials, baseUrl, headers } = options
  const isGiven = [apiKey, authToken, credentials, baseUrl, headers].some((one) => one !== undefined)
  if (isGiven) return options
  const key = keyIn(variable)
  if (key !== undefined) return { ...options, apiKey: key }
  // A custom function may authenticate by itself.
  return options.fetch === undefined ? { ...options, credentials: () => lateKey(variable) } : options
}

/**
 * Returns a function that reads the key when it is used, because a program may load its variables after its modules.
 * @throws ConfigurationError for an unset variable.
 */
function lateKey(variable: string): Credential {
  const apiKey = keyIn(variable)
  if (apiKey === undefined) throw new ConfigurationError(`${variable} is not set. Set it, or pass apiKey.`)
  return { apiKey }
}

function keyIn(variable: string): string | undefined {
  // Browsers have no such object.
  const key = typeof process === 'undefined' ? undefined : process.env[variable]
  return key === undefined || key.trim() === '' ? undefined : key
}
