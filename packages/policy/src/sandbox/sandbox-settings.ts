import { ConfigurationError, type JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'

/** The setting `sandbox`, with the names that users know. */
export interface SandboxSettings {
  /** Whether commands run in the sandbox. */
  readonly enabled: boolean
  /** Whether commands that run in the sandbox need no approval. */
  readonly autoAllowBashIfSandboxed: boolean
  /** Patterns of commands that run outside, as in `Bash(...)` rules. They still need approval. */
  readonly excludedCommands: readonly string[]
  /** Domains that commands may reach. */
  readonly allowedDomains: readonly string[]
  /** Domains that commands may not reach. */
  readonly deniedDomains: readonly string[]
  /** Whether commands may connect to every Unix socket. */
  readonly allowAllUnixSockets: boolean
  /** Further folders that commands may write. */
  readonly allowWrite: readonly string[]
  /** Folders that commands may not write. */
  readonly denyWrite: readonly string[]
  /** Places that commands may not read. */
  readonly denyRead: readonly string[]
  /** Places that commands may read even inside a folder of `denyRead`. */
  readonly allowRead: readonly string[]
}

const switches = ['enabled', 'autoAllowBashIfSandboxed'] as const
const networkLists = ['allowedDomains', 'deniedDomains'] as const
const fileLists = ['allowWrite', 'denyWrite', 'denyRead', 'allowRead'] as const

/**
 * Merges the setting of several files, the highest precedence first: a switch comes from the first file that has it, lists are concatenated.
 * @throws ConfigurationError for a value of the wrong type.
 */
export function sandboxSettingsOf(given: readonly JsonObject[]): SandboxSettings {
  const files = given.map(readFile)
  const first = (name: (typeof switches)[number] | 'allowAllUnixSockets', otherwise: boolean): boolean =>
    files.find((file) => file[name] !== undefined)?.[name] ?? otherwise
  const joined = (name: 'excludedCommands' | (typeof networkLists)[number] | (typeof fileLists)[number]): string[] => [
    ...new Set(files.flatMap((file) => file[name] ?? [])),
  ]
  return {
    enabled: first('enabled', false),
    autoAllowBashIfSandboxed: first('autoAllowBashIfSandboxed', true),
    excludedCommands: joined('excludedCommands'),
    allowedDomains: joined('allowedDomains'),
    deniedDomains: joined('deniedDomains'),
    allowAllUnixSockets: first('allowAllUnixSockets', false),
    allowWrite: joined('allowWrite'),
    denyWrite: joined('denyWrite'),
    denyRead: joined('denyRead'),
    allowRead: joined('allowRead'),
  }
}

/**
 * Whether settings files explicitly choose that commands run confined in `acceptEdits`: false if one has `autoAllowBashIfSandboxed: false`, true if
 * one has `true` and none `false`. Undefined if none has it: the default of the sandbox is not an explicit choice.
 */
export function explicitAutoAllow(given: readonly JsonObject[]): boolean | undefined {
  const values = given.map((file) => file['autoAllowBashIfSandboxed'])
  return values.includes(false) ? false : values.includes(true) ? true : undefined
}

/**
 * The parts of the setting that a project may set without trust, as they only restrict. If only the project enables the
 * sandbox, commands in it still need approval: otherwise the project alone could make commands run without approval.
 */
export function restrictionsOf(sandbox: JsonObject, isWantedAnyway: boolean): JsonObject {
  const { enabled, network, filesystem } = sandbox
  const pick = (value: unknown, names: readonly string[]): JsonObject =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name))) : {}
  return {
    ...(enabled === true && { enabled, ...(!isWantedAnyway && { autoAllowBashIfSandboxed: false }) }),
    ...(network !== undefined && { network: pick(network, ['deniedDomains']) }),
    ...(filesystem !== undefined && { filesystem: pick(filesystem, ['denyWrite', 'denyRead']) }),
  }
}

type RawSandbox = { readonly [Name in keyof SandboxSettings]?: SandboxSettings[Name] }

function readFile(sandbox: JsonObject): RawSandbox {
  const network = subObject(sandbox, 'network')
  const filesystem = subObject(sandbox, 'filesystem')
  return {
    ...pickValues(sandbox, switches, '', asSwitch),
    ...pickValues(sandbox, ['excludedCommands'], '', asList),
    ...pickValues(network, networkLists, 'network.', asList),
    ...pickValues(network, ['allowAllUnixSockets'], 'network.', asSwitch),
    ...pickValues(filesystem, fileLists, 'filesystem.', asList),
  }
}

function subObject(sandbox: JsonObject, name: string): JsonObject {
  const value = sandbox[name] ?? {}
  if (isJsonObject(value)) return value
  throw new ConfigurationError(`sandbox.${name} in the settings must be an object.`)
}

function pickValues<Name extends string, Value>(
  from: JsonObject,
  names: readonly Name[],
  before: string,
  read: (value: unknown, name: string) => Value,
): { readonly [Key in Name]?: Value } {
  const found: { [Key in Name]?: Value } = {}
  for (const name of names) {
    const value = from[name]
    if (value !== undefined) found[name] = read(value, `sandbox.${before}${name}`)
  }
  return found
}

function asSwitch(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value
  throw new ConfigurationError(`${name} in the settings must be true or false.`)
}

function asList(value: unknown, name: string): readonly string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string' && item.trim() !== '')) return value
  throw new ConfigurationError(`${name} in the settings must be a list of texts.`)
}

/** How settings and a frontend choose what happens in `acceptEdits` to commands that no rule covers. */
export interface EditsChoice {
  /** The setting `sandbox` of each file. */
  readonly sandbox?: readonly JsonObject[] | undefined
  /** Whether such commands run confined if no settings file decides. */
  readonly isDefault: boolean
}

/** Why such commands need approval although they could be confined, as the end of a sentence; undefined if they run confined. */
export function editsOffReason({ sandbox = [], isDefault }: EditsChoice): string | undefined {
  const explicit = explicitAutoAllow(sandbox)
  if (explicit === false) return 'sandbox.autoAllowBashIfSandboxed is false'
  if (explicit === true || isDefault) return undefined
  return 'the program that runs this session is asked, because no settings file of yours has sandbox.autoAllowBashIfSandboxed'
}
