import type { Json, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { UsageError } from '../usage-error.ts'

/** What a host says of its session before it begins: `initialize`. */
export interface InitializeRequest {
  /** Those of the command line, with what the host says in their place. */
  readonly flags: Flags
  /** The host speaks this protocol, and not messages alone. */
  readonly isInitialized: boolean
  /** Hooks that the host calls back, by event. */
  readonly hooks: JsonObject | undefined
  /** Servers in the host's own process. */
  readonly sdkServers: readonly string[]
  readonly sdkServerConfigs: JsonObject
  /** What these servers say of themselves, by name. */
  readonly sdkServerManifests: JsonObject
  /** The host is told all that subagents say, and not their calls alone. */
  readonly forwardsAgentText: boolean
  /** Subagents say in a line what they do. */
  readonly summarizesAgents: boolean
  /** Which tool a call by another name is of. */
  readonly toolAliases: { readonly [written: string]: string } | undefined
  /** How a plan is made in plan mode, in place of our words. */
  readonly planInstructions: string | undefined
  /** What the session is called in lists. */
  readonly title: string | undefined
  /** The only skills that the session has; all that are there when absent. */
  readonly skills: readonly string[] | undefined
  /** Words of warning about what has no effect. */
  readonly warnings: readonly string[]
  /** Folders of the plugins that the host named, undefined for one that is none of a folder; undefined where it named none. */
  readonly plugins: readonly (string | undefined)[] | undefined
  /** Whether there are servers, and hooks, among what the host said. */
  readonly provides: { readonly servers: boolean; readonly hooks: boolean }
}

/** Reads the fields of `initialize` (spec R-HOST-4). @throws UsageError for what cannot be read: then nothing is opened. */
export function readInitialize(fields: JsonObject, flags: Flags): InitializeRequest {
  // True: `listOf` looked at each.
  const plugins = ((listOf(fields, 'plugins', isJsonObject) ?? []) as readonly JsonObject[]).map(readPlugin)
  const servers = objectOf(fields, 'mcpServers')
  return {
    flags: mergeFlags(fields, { servers, plugins }, flags),
    isInitialized: fields['subtype'] === 'initialize',
    hooks: objectOf(fields, 'hooks'),
    // True: `texts` looked at each.
    sdkServers: textsOf(fields, 'sdkMcpServers') ?? [],
    sdkServerConfigs: objectOf(fields, 'sdkMcpServerConfigs') ?? {},
    sdkServerManifests: objectOf(fields, 'sdkMcpServerManifests') ?? {},
    forwardsAgentText: fields['forwardSubagentText'] === true,
    summarizesAgents: fields['agentProgressSummaries'] === true,
    toolAliases: aliasesOf(fields),
    planInstructions: nonBlankTextOf(fields, 'planModeInstructions'),
    title: nonBlankTextOf(fields, 'title'),
    skills: textsOf(fields, 'skills'),
    warnings: plugins.includes(undefined)
      ? ['initialize: plugins: each must be {"type": "local", "path": "…"}; ignored those that are not.']
      : [],
    plugins: plugins.length === 0 ? undefined : plugins.map((plugin) => plugin?.path),
    provides: { servers: servers !== undefined, hooks: fields['hooks'] !== undefined },
  }
}

interface HostPlugin {
  readonly path: string
  /** The host connects to its servers. */
  readonly skipsServers: boolean
}

function readPlugin({ type, path, skipMcpDiscovery }: JsonObject): HostPlugin | undefined {
  if (type !== 'local' || typeof path !== 'string' || path === '') return undefined
  return { path, skipsServers: skipMcpDiscovery === true }
}

interface ServersAndPlugins {
  readonly servers: JsonObject | undefined
  readonly plugins: readonly (HostPlugin | undefined)[]
}

/** Most of what a host says there is what flags say, too. */
function mergeFlags(fields: JsonObject, { servers, plugins }: ServersAndPlugins, flags: Flags): Flags {
  const { systemPromptFile, appendSystemPromptFile, ...others } = flags
  const system = textsOf(fields, 'systemPrompt')
  const appended = textOf(fields, 'appendSystemPrompt')
  const agents = objectOf(fields, 'agents')
  const schema = objectOf(fields, 'jsonSchema')
  const folders = (skipsServers: boolean): readonly string[] =>
    plugins.flatMap((plugin) => (plugin?.skipsServers === skipsServers ? [plugin.path] : []))
  const [pluginDir, pluginDirNoMcp] = [folders(false), folders(true)]
  return {
    ...others,
    ...(system === undefined
      ? systemPromptFile !== undefined && { systemPromptFile }
      : // An empty one is one, too: ours is not in its place.
        { systemPrompt: system.filter((part) => part !== '').join('\n\n') }),
    ...(appended === undefined
      ? appendSystemPromptFile !== undefined && { appendSystemPromptFile }
      : { appendSystemPrompt: appended }),
    ...(agents !== undefined && { agents: mergeAgents(flags.agents, agents) }),
    ...(schema !== undefined && { jsonSchema: JSON.stringify(schema) }),
    ...(servers !== undefined && {
      mcpConfig: [...(flags.mcpConfig ?? []), JSON.stringify({ mcpServers: servers })],
    }),
    ...(pluginDir.length > 0 && { pluginDir: [...(flags.pluginDir ?? []), ...pluginDir] }),
    ...(pluginDirNoMcp.length > 0 && { pluginDirNoMcp: [...(flags.pluginDirNoMcp ?? []), ...pluginDirNoMcp] }),
    ...(fields['promptSuggestions'] === true && { promptSuggestions: true }),
  }
}

/** Those that the host says go before those of the command line. */
function mergeAgents(given: string | undefined, agents: JsonObject): string {
  // `--agents` takes nothing but an object.
  const before = given === undefined ? {} : (JSON.parse(given) as JsonObject)
  return JSON.stringify({ ...before, ...agents })
}

function objectOf(fields: JsonObject, name: string): JsonObject | undefined {
  const value = fields[name] ?? undefined
  if (value === undefined || isJsonObject(value)) return value
  throw invalidField(name, 'an object')
}

function textOf(fields: JsonObject, name: string): string | undefined {
  const value = fields[name] ?? undefined
  if (value === undefined || typeof value === 'string') return value
  throw invalidField(name, 'a string')
}

/** Blanks say nothing. */
function nonBlankTextOf(fields: JsonObject, name: string): string | undefined {
  const text = textOf(fields, name)?.trim()
  return text === '' ? undefined : text
}

function aliasesOf(fields: JsonObject): InitializeRequest['toolAliases'] {
  const aliases = objectOf(fields, 'toolAliases')
  if (aliases === undefined) return undefined
  for (const target of Object.values(aliases))
    if (typeof target !== 'string' || target === '') throw invalidField('toolAliases', 'an object of tool names')
  // Just looked at.
  return aliases as { readonly [written: string]: string }
}

function textsOf(fields: JsonObject, name: string): readonly string[] | undefined {
  // True: each was looked at.
  return listOf(fields, name, (value) => typeof value === 'string') as readonly string[] | undefined
}

function listOf(fields: JsonObject, name: string, isOne: (value: Json) => boolean): readonly Json[] | undefined {
  const value = fields[name] ?? undefined
  // One text is what older hosts give where newer ones give a list.
  const values = typeof value === 'string' ? [value] : value
  if (values === undefined) return undefined
  if (Array.isArray(values) && values.every((one: Json) => isOne(one))) return values as readonly Json[]
  throw invalidField(name, 'a list of the right type')
}

function invalidField(name: string, expected: string): UsageError {
  return new UsageError(`initialize: ${name} must be ${expected}.`)
}
