import type { Json, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { UsageError } from '../usage-error.ts'

/** What a host says of its session before it begins: `initialize`. */
export interface Given {
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
  /** The only skills that the session has; all that are there when absent. */
  readonly skills: readonly string[] | undefined
  /** Words of warning about what has no effect. */
  readonly warnings: readonly string[]
  /** Whether there are servers, and plugins, among what the host said. */
  readonly names: { readonly servers: boolean; readonly plugins: boolean; readonly hooks: boolean }
}

const unsupported = [
  'title',
  'agentProgressSummaries',
  'forwardSubagentText',
  'toolAliases',
  'planModeInstructions',
] as const

/** Reads the fields of `initialize` (spec R-HOST-4). @throws UsageError for what cannot be read: then nothing is opened. */
export function givenBy(fields: JsonObject, flags: Flags): Given {
  const plugins = listOf(fields, 'plugins', (value) => isJsonObject(value))
  const servers = objectOf(fields, 'mcpServers')
  const unserved = unsupported.filter((name) => isSaid(fields[name]))
  return {
    flags: flagsWith(fields, servers, flags),
    isInitialized: fields['subtype'] === 'initialize',
    hooks: objectOf(fields, 'hooks'),
    // True: `texts` looked at each.
    sdkServers: textsOf(fields, 'sdkMcpServers') ?? [],
    sdkServerConfigs: objectOf(fields, 'sdkMcpServerConfigs') ?? {},
    sdkServerManifests: objectOf(fields, 'sdkMcpServerManifests') ?? {},
    skills: textsOf(fields, 'skills'),
    warnings: [
      ...(unserved.length > 0 ? [`initialize: ${unserved.join(', ')}: not supported, without effect.`] : []),
      ...((plugins ?? []).length > 0 ? ['initialize: plugins are not supported and are passed over.'] : []),
    ],
    names: { servers: servers !== undefined, plugins: plugins !== undefined, hooks: fields['hooks'] !== undefined },
  }
}

/** Most of what a host says there is what flags say, too. */
function flagsWith(fields: JsonObject, servers: JsonObject | undefined, flags: Flags): Flags {
  const { systemPromptFile, appendSystemPromptFile, ...others } = flags
  const system = textsOf(fields, 'systemPrompt')
  const appended = textOf(fields, 'appendSystemPrompt')
  const agents = objectOf(fields, 'agents')
  const schema = objectOf(fields, 'jsonSchema')
  return {
    ...others,
    ...(system === undefined
      ? systemPromptFile !== undefined && { systemPromptFile }
      : // An empty one is one, too: ours is not in its place.
        { systemPrompt: system.filter((part) => part !== '').join('\n\n') }),
    ...(appended === undefined
      ? appendSystemPromptFile !== undefined && { appendSystemPromptFile }
      : { appendSystemPrompt: appended }),
    ...(agents !== undefined && { agents: withAgents(flags.agents, agents) }),
    ...(schema !== undefined && { jsonSchema: JSON.stringify(schema) }),
    ...(servers !== undefined && {
      mcpConfig: [...(flags.mcpConfig ?? []), JSON.stringify({ mcpServers: servers })],
    }),
    ...(fields['promptSuggestions'] === true && { promptSuggestions: true }),
  }
}

/** Those that the host says go before those of the command line. */
function withAgents(given: string | undefined, agents: JsonObject): string {
  // `--agents` takes nothing but an object.
  const before = given === undefined ? {} : (JSON.parse(given) as JsonObject)
  return JSON.stringify({ ...before, ...agents })
}

function isSaid(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== false
}

function objectOf(fields: JsonObject, name: string): JsonObject | undefined {
  const value = fields[name] ?? undefined
  if (value === undefined || isJsonObject(value)) return value
  throw wrong(name, 'an object')
}

function textOf(fields: JsonObject, name: string): string | undefined {
  const value = fields[name] ?? undefined
  if (value === undefined || typeof value === 'string') return value
  throw wrong(name, 'a text')
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
  throw wrong(name, 'a list of the right kind')
}

function wrong(name: string, expected: string): UsageError {
  return new UsageError(`initialize: ${name} must be ${expected}.`)
}
