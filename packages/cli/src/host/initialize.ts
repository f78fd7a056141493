import type { Json, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { UsageError } from '../usage-error.ts'

/** The contents of `initialize`: what a host says about its session before it starts. */
export interface InitializeRequest {
  /** The flags of the command line, overridden by the request. */
  readonly flags: Flags
  /** Whether the host sent `initialize`; false for a host that only sends messages. */
  readonly isInitialized: boolean
  /** Hooks that the host runs when called back, by event. */
  readonly hooks: JsonObject | undefined
  /** MCP servers in the process of the host. */
  readonly sdkServers: readonly string[]
  readonly sdkServerConfigs: JsonObject
  /** Answers of these servers that the host already has, by server name. */
  readonly sdkServerManifests: JsonObject
  /** Whether the host receives the text of subagents, in addition to their calls. */
  readonly forwardsAgentText: boolean
  /** Whether subagents report their activity in one line. */
  readonly summarizesAgents: boolean
  /** Alternative names of tools. */
  readonly toolAliases: { readonly [written: string]: string } | undefined
  /** Instructions for plan mode that replace the built-in ones. */
  readonly planInstructions: string | undefined
  /** The title of the session in session lists. */
  readonly title: string | undefined
  /** The only skills of the session; if absent, all. */
  readonly skills: readonly string[] | undefined
  /** Warnings about parts that have no effect. */
  readonly warnings: readonly string[]
  /** Folders of the plugins that the host named; undefined for an invalid entry. Undefined as a whole if it named none. */
  readonly plugins: readonly (string | undefined)[] | undefined
  /** Whether the request contains servers and hooks. */
  readonly provides: { readonly servers: boolean; readonly hooks: boolean }
}

/** Reads the fields of `initialize` (spec R-HOST-4). @throws UsageError for an invalid field; then nothing is opened. */
export function readInitialize(fields: JsonObject, flags: Flags): InitializeRequest {
  // This cast is safe: `listOf` checked each element.
  const plugins = ((listOf(fields, 'plugins', isJsonObject) ?? []) as readonly JsonObject[]).map(readPlugin)
  const servers = objectOf(fields, 'mcpServers')
  return {
    flags: mergeFlags(fields, { servers, plugins }, flags),
    isInitialized: fields['subtype'] === 'initialize',
    hooks: objectOf(fields, 'hooks'),
    // This cast is safe: `textsOf` checked each element.
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
  /** Whether the host itself connects to the servers of the plugin. */
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

/** Most fields of the request correspond to flags. */
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
      : // An empty prompt also replaces ours.
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

/** Agents of the request override those of the command line. */
function mergeAgents(given: string | undefined, agents: JsonObject): string {
  // This cast is safe: `--agents` only accepts an object.
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

/** A blank text counts as absent. */
function nonBlankTextOf(fields: JsonObject, name: string): string | undefined {
  const text = textOf(fields, name)?.trim()
  return text === '' ? undefined : text
}

function aliasesOf(fields: JsonObject): InitializeRequest['toolAliases'] {
  const aliases = objectOf(fields, 'toolAliases')
  if (aliases === undefined) return undefined
  for (const target of Object.values(aliases))
    if (typeof target !== 'string' || target === '') throw invalidField('toolAliases', 'an object of tool names')
  // This cast is safe: the values were checked above.
  return aliases as { readonly [written: string]: string }
}

function textsOf(fields: JsonObject, name: string): readonly string[] | undefined {
  // This cast is safe: each element was checked.
  return listOf(fields, name, (value) => typeof value === 'string') as readonly string[] | undefined
}

function listOf(fields: JsonObject, name: string, isOne: (value: Json) => boolean): readonly Json[] | undefined {
  const value = fields[name] ?? undefined
  // Older hosts send a single text where newer ones send a list.
  const values = typeof value === 'string' ? [value] : value
  if (values === undefined) return undefined
  if (Array.isArray(values) && values.every((one: Json) => isOne(one))) return values as readonly Json[]
  throw invalidField(name, 'a list of the right type')
}

function invalidField(name: string, expected: string): UsageError {
  return new UsageError(`initialize: ${name} must be ${expected}.`)
}
