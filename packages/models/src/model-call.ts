import { ConfigurationError } from '@halting/core'
import type { Credential } from './service/credential-source.ts'
import type { ServiceOptions } from './service/endpoint.ts'

/** The other options of a model whose name is given first. */
export type OptionsBesideName<Options extends { readonly model: string }> = Omit<Options, 'model'>

interface CallForm {
  /** The function that was called, for errors. */
  readonly name: string
  /** A model of the service, for the sample in errors. */
  readonly sample: string
  /** What the sample passes as well, such as an address that must be given. */
  readonly rest?: string
}

/**
 * The options of `anthropic('name', { apiKey })` and of `anthropic({ model: 'name', apiKey })`.
 * @throws ConfigurationError for anything else, with the call that works.
 */
export function modelOptionsOf(form: CallForm, given: unknown, more: unknown): NamedOptions {
  if (typeof given === 'string') {
    if (more !== undefined && !isFields(more))
      throw new ConfigurationError(`The options of ${form.name} must be an object. ${rightCalls(form)}`)
    return checkedName(form, { ...more, model: given })
  }
  if (!isFields(given)) throw new ConfigurationError(`${form.name} expects the name of a model. ${rightCalls(form)}`)
  if (more !== undefined)
    throw new ConfigurationError(`${form.name} takes one object of options, or a name first. ${rightCalls(form)}`)
  return checkedName(form, given)
}

/** What the SDKs of services and other libraries call these options. Passed over, a key would go to an address that nobody meant. */
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
      throw new ConfigurationError(`${form.name} has no option ${theirs}: it is ${ours}. ${rightCalls(form)}`)
  const { model } = options
  if (typeof model === 'string' && model.trim() !== '') return { ...options, model }
  const problem = typeof model === 'string' ? 'the name of the model is empty' : 'the name of the model is missing'
  throw new ConfigurationError(`${form.name}: ${problem}. ${rightCalls(form)}`)
}

type Fields = { readonly [field: string]: unknown }

/** Options with the name of a model. The other fields are checked where they are used. */
type NamedOptions = Fields & { readonly model: string }

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function rightCalls({ name, sample, rest = 'apiKey' }: CallForm): string {
  return `Call it like ${name}('${sample}', { ${rest} }) or ${name}({ model: '${sample}', ${rest} }).`
}

/**
 * The options with the key of the service's usual variable, where no way to sign in is given. It goes to the service's own address alone: with a `baseUrl` no
 * variable is read.
 */
export function withUsualKey<Options extends ServiceOptions>(options: Options, variable: string): Options {
  const { apiKey, authToken, credentials, baseUrl, headers } = options
  const isGiven = [apiKey, authToken, credentials, baseUrl, headers].some((one) => one !== undefined)
  if (isGiven) return options
  const key = keyIn(variable)
  if (key !== undefined) return { ...options, apiKey: key }
  // A function of the caller may sign in by itself.
  return options.fetch === undefined ? { ...options, credentials: () => lateKey(variable) } : options
}

/** A program may load its variables after its modules. @throws ConfigurationError for a variable that is not set. */
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
