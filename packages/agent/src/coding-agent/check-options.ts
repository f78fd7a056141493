import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigurationError } from '@halting/core'
import { isJsonObject, isUuid } from '@halting/core/adapters'
import { permissionModes } from '@halting/policy'
import { toolProfiles } from '@halting/policy/settings'
import type { CodingAgentOptions } from './options.ts'

/** Returns a description of the valid value; undefined if the value is valid. */
type Check = (value: unknown) => string | undefined

const is =
  (what: string, fits: (value: unknown) => boolean): Check =>
  (value) =>
    fits(value) ? undefined : what

const isTexts = is(
  'a list of strings',
  (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
)
const isFlag = is('true or false', (value) => typeof value === 'boolean')
const isText = is('a non-empty string', (value) => typeof value === 'string' && value !== '')
const isFunction = is('a function', (value) => typeof value === 'function')
const isList = is('a list', Array.isArray)
const oneOf = (names: readonly string[]): Check =>
  is(`one of ${names.join(', ')}`, (value) => names.some((name) => name === value))

const sources: readonly string[] = ['user', 'project', 'local']

/**
 * Checks for the options of `codingAgent` that are not options of the loop; the loop checks its own. Without a check,
 * a text in place of a list would be treated as a list of letters.
 */
const checks: { readonly [name: string]: Check } = {
  model: is('a model or the name of one', (value) => typeof value === 'string' || isJsonObject(value)),
  tools: is(
    'a list of tools, such as those made by tool()',
    (value) => Array.isArray(value) && value.every(isJsonObject),
  ),
  hooks: isList,
  stopHooks: isList,
  codingTools: isTexts,
  toolProfile: oneOf(toolProfiles),
  system: is('a string', (value) => typeof value === 'string'),
  appendSystem: is('a string', (value) => typeof value === 'string'),
  outputSchema: is(
    'a Standard Schema or a JSON Schema',
    (value) => (typeof value === 'object' && value !== null) || typeof value === 'function',
  ),
  settingSources: is(
    `a list of ${sources.join(', ')}`,
    (value) => Array.isArray(value) && value.every((one) => sources.includes(String(one))),
  ),
  settings: is('a JSON-serializable object', (value) => isJsonObject(value) && isWritable(value)),
  trust: isFlag,
  permissionMode: oneOf(permissionModes),
  allowedTools: isTexts,
  disallowedTools: isTexts,
  additionalDirectories: isTexts,
  until: is(
    'a list of commands and goals, such as ["npm test"]',
    (value) => Array.isArray(value) && value.every((one) => typeof one === 'string' || isJsonObject(one)),
  ),
  protect: isTexts,
  verification: oneOf(['ask', 'tell', 'off']),
  sandbox: isFlag,
  background: oneOf(['wait', 'stop', 'keep']),
  agents: is('agents by name', (value) => isJsonObject(value) && isWritable(value)),
  mcpServers: is(
    'servers by name, each with a command, a url or an instance',
    (value) => isJsonObject(value) && Object.values(value).every(isServer),
  ),
  elicit: isFunction,
  sessionId: is('a UUID, such as from randomUUID()', (value) => typeof value === 'string' && isUuid(value)),
  resume: is(
    "a session's id or { newest: true }",
    (value) => (typeof value === 'string' && value !== '') || (isJsonObject(value) && value['newest'] === true),
  ),
  persistSession: isFlag,
  env: is('an environment, such as process.env', (value) => typeof value === 'object' && value !== null),
  onNote: isFunction,
}

/** Options of the loop that a session sets itself, with their replacements. */
const replacedOptions: { readonly [name: string]: string } = {
  permissions: 'Use allowedTools, disallowedTools and permissionMode.',
  stopWhen: 'Register each guard: .withCapability(new UseHook(guard)).',
  output: 'Use outputSchema.',
  steps: 'Remove it; persistSession sets whether the session is stored.',
  moreTools: 'Use tools or mcpServers.',
  session: 'Use resume or sessionId.',
  transcript: 'Use resume.',
  stepsFor: 'Remove it; persistSession sets whether the session is stored.',
  apiKey: 'Pass a model that has its key, such as anthropic(name, { apiKey }) of @halting/models.',
}

/**
 * Validates options, since plain JavaScript may pass anything. Returns the folder.
 * @throws ConfigurationError for invalid options.
 */
export function checkedFolder(options: Pick<CodingAgentOptions, 'cwd' | 'additionalDirectories'>): string {
  const given: unknown = options
  if (!isJsonObject(given)) throw new ConfigurationError('codingAgent takes an object, such as { cwd }.')
  for (const [name, instead] of Object.entries(replacedOptions))
    if (given[name] !== undefined) throw new ConfigurationError(`codingAgent has no option ${name}. ${instead}`)
  for (const [name, check] of Object.entries(checks)) {
    const problem = given[name] === undefined ? undefined : check(given[name])
    if (problem !== undefined) throw new ConfigurationError(`${name} of codingAgent must be ${problem}.`)
  }
  const { cwd } = options
  if (!isFolder(cwd)) throw new ConfigurationError(`cwd must be an existing folder, not ${JSON.stringify(cwd)}.`)
  const folder = resolve(cwd)
  const stranger = options.additionalDirectories?.find((path) => !isFolder(resolve(folder, path)))
  if (stranger !== undefined)
    throw new ConfigurationError(`additionalDirectories takes existing folders, not "${stranger}".`)
  return folder
}

function isWritable(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

function isServer(value: unknown): boolean {
  if (!isJsonObject(value)) return false
  const { command, args = [], url, instance } = value
  if (command !== undefined) return isText(command) === undefined && isTexts(args) === undefined
  if (url !== undefined) return typeof url === 'string' && /^https?:/i.test(url) && URL.canParse(url)
  return typeof instance === 'object' && instance !== null
}

function isFolder(path: unknown): boolean {
  try {
    return typeof path === 'string' && statSync(path).isDirectory()
  } catch {
    // The folder is missing, not accessible, or not a path.
    return false
  }
}
