import type { JsonObject } from '@halting/core'
import { type BudgetTerms, isJsonObject } from '@halting/core/adapters'
import { absolutePath, isDirectory } from '../files/paths.ts'
import { realPath } from '@halting/journal/files'
import type { PermissionMode } from '../permissions/rule-book.ts'
import { parseRules, type RuleText } from '../permissions/rule.ts'
import { type AiSdkSettings, mergeAiSdk } from './ai-sdk.ts'
import type { EffectiveFile, RecordOrigin } from './effective-file.ts'
import type {
  Fields,
  LimitSettings,
  NotificationChannel,
  StatusLineSettings,
  ToolProfile,
  WebSearchSetting,
} from './fields.ts'
import type { HookGroup, HookSettings } from './hook-settings.ts'
import type { ReadFile } from './read-files.ts'
import { isDeepStrictEqual } from 'node:util'
import { validServerName } from '../mcp-names.ts'

/** The merged content of the settings files. */
export interface Settings {
  /** A command that prints an API key. */
  readonly apiKeyHelper?: string
  /** Prices by model id, of each file, the highest precedence first. Not validated yet. */
  readonly modelPrices?: readonly JsonObject[]
  /** Sessions that were not used for this many days are removed. Default: 30. */
  readonly cleanupPeriodDays?: number
  /** Where sessions are stored: `sqlite:PATH`, `postgres://…` or `files`. It may contain a password. */
  readonly sessionStore?: string
  /** Whether known secrets are removed from tool results. */
  readonly redactSecrets?: boolean
  /** Whether files are saved before they are changed. Default: true. */
  readonly fileCheckpointingEnabled?: boolean
  /** Whether a model suggests the next prompt after a run. Default: false. */
  readonly promptSuggestionEnabled?: boolean
  /** Whether a summary of hook activity is shown after a run. Default: false. */
  readonly hookSummaryEnabled?: boolean
  /** The model for tasks after a run. Default: the model of the session. */
  readonly smallModel?: string
  /** What performs web searches for `WebSearch`. Default: `auto`. */
  readonly webSearch?: WebSearchSetting
  /** Whether notes of earlier sessions are read, and notes are stored after a run. Default: false. */
  readonly autoMemoryEnabled?: boolean
  /** Whether a model reorganizes the notes from time to time. Default: false. */
  readonly autoDreamEnabled?: boolean
  /** The folder of the notes. Default: the folder of the project's sessions. */
  readonly autoMemoryDirectory?: string
  /** What happens to commands that still run when a run is about to end. Default: `wait`. */
  readonly background?: 'wait' | 'stop' | 'keep'
  /** Whether the kernel confines commands without a rule to reading. Default: `auto` (if that works). */
  readonly confineJudged?: 'auto' | 'off'
  /** Whether commands that no rule covers are tried in the mode `default` before a person is asked. Default: false. */
  readonly tryReadOnly?: boolean
  /** The model, if neither a flag nor the environment names one. */
  readonly model?: string
  /** The API for models of OpenAI and compatible services. Default: the one of the service. */
  readonly openaiApi?: 'responses' | 'chat_completions'
  /** Which tools are offered. Default: `default`. */
  readonly toolProfile?: ToolProfile
  /** Name of the color theme. */
  readonly theme?: string
  /** How the program notifies a person whose terminal is not in focus. Default: `auto` (bell and notification). */
  readonly preferredNotifChannel?: NotificationChannel
  /** Environment variables of the run and of its tools. */
  readonly env?: Readonly<Record<string, string>>
  /** Variables with keys that tools may see (hidden by default). */
  readonly passEnvironment?: readonly string[]
  /** Permission rules, and the mode. */
  readonly permissions?: PermissionSettings
  /** Whether only an administrator's rules allow calls: those of flags and answers are ignored. */
  readonly allowManagedPermissionRulesOnly?: boolean
  /** The domains of the administrator's allow rules, if only an administrator defines which domains the sandbox can reach. */
  readonly managedDomains?: readonly string[]
  /** Hooks of all files. */
  readonly hooks?: HookSettings
  /** Commands that must all exit with 0 before a run is done: those of the file with the highest precedence that has any. */
  readonly until?: readonly string[]
  /** How often an answer is rejected because a goal is not met. Default: 10. */
  readonly untilTries?: number
  /** Timeout of one check, such as `10m`. */
  readonly untilTimeout?: string
  /** Globs of files that the agent may not change, of all files, relative to the folder of the session. */
  readonly protect?: readonly string[]
  /** The setting `sandbox` of each file, the highest precedence first; `sandboxSettingsOf` merges it. */
  readonly sandbox?: readonly JsonObject[]
  /** Merged limits of a run; null means no limit. */
  readonly limits?: LimitSettings
  /** Limits of an administrator, which nothing raises. */
  readonly managedLimits?: LimitSettings
  /** How long a run waits for services that are rate limited or unavailable, in milliseconds; 0 means not at all. */
  readonly waitForLimits?: number
  /** The value of an administrator, which nothing raises. */
  readonly managedWaitForLimits?: number
  /** Whether the model is notified of what remains of its limits. Default: true. */
  readonly limitReminders?: boolean
  /** Whether the model is asked to verify a change that no check covered, or only the result mentions it. Default: depends on the frontend. */
  readonly verifyChanges?: 'ask' | 'tell' | 'off'
  /** Whether a run ends at a limit, or pauses until a person raises it. Default: `end`. */
  readonly onLimit?: 'end' | 'pause'
  /** How long to wait for an answer at a limit, such as `10m`. Default: forever. */
  readonly pauseFor?: string
  /** Budgets over all sessions and processes of the machine, of all files. */
  readonly budgets?: readonly BudgetSource[]
  /** Provider packages of the AI SDK, and their models by name. */
  readonly aiSdk?: AiSdkSettings
  /** A command whose output is shown in the interactive program. */
  readonly statusLine?: StatusLineSettings
  /** MCP servers, each name once. Not validated yet. */
  readonly mcpServers?: readonly NamedServer[]
}

/** A budget, and its settings file. */
export interface BudgetSource extends BudgetTerms {
  /** Path of the file. */
  readonly from: string
}

/** An MCP server from a settings file. */
export interface NamedServer {
  /** Name of the server. */
  readonly name: string
  /** Its entry in the file. */
  readonly server: JsonObject
  /** Whose server it is: only personal ones may refer to the person's keys. */
  readonly scope: 'own' | 'project'
  /** Path of the file. */
  readonly from: string
}

/** Permission rules, each with the project of its file. */
export interface PermissionSettings {
  /** Rules that allow. */
  readonly allow: readonly RuleText[]
  /** Rules that deny. */
  readonly deny: readonly RuleText[]
  /** Rules that ask. */
  readonly ask: readonly RuleText[]
  /** The initial mode of a session. Default: `default`. */
  readonly defaultMode?: PermissionMode
  /** Further folders of the workspace. */
  readonly additionalDirectories: readonly string[]
  /** Whether the mode `bypassPermissions` is not available. */
  readonly disableBypassPermissionsMode?: boolean
}

/** A value in effect, and its settings file. */
export interface Origin {
  /** Key of the setting. */
  readonly setting: string
  /** Its value. */
  readonly value: unknown
  /** Path of the file. */
  readonly from: string
}

export const listedFields = ['allow', 'deny', 'ask', 'additionalDirectories'] as const
/** With these, only an administrator defines which hooks run, which rules allow, and which providers are loaded. */
const managedOnlySettings = [
  'allowManagedHooksOnly',
  'allowManagedPermissionRulesOnly',
  'allowManagedProvidersOnly',
] as const
const singleFields = [
  'apiKeyHelper',
  'autoMemoryDirectory',
  'background',
  'cleanupPeriodDays',
  'confineJudged',
  'fileCheckpointingEnabled',
  'hookSummaryEnabled',
  'limitReminders',
  'model',
  'onLimit',
  'openaiApi',
  'pauseFor',
  'preferredNotifChannel',
  'promptSuggestionEnabled',
  'sessionStore',
  'smallModel',
  'statusLine',
  'theme',
  'toolProfile',
  'tryReadOnly',
  'until',
  'untilTimeout',
  'untilTries',
  'verifyChanges',
  'webSearch',
] as const

/** Single values by precedence; rules, directories, hooks, prices and variables of all files. */
export function mergeFiles(
  effective: readonly EffectiveFile[],
  warnings: string[],
): { readonly settings: Settings; readonly origins: readonly Origin[] } {
  const origins: Origin[] = []
  const recordOrigin = (setting: string, value: unknown, { name: from }: ReadFile): void =>
    void origins.push({ setting, value, from })
  const single = mergeSingleValues(effective, recordOrigin)
  recordManagedOnly(effective, recordOrigin)
  const hasFixedRules = effective.some(({ fields }) => fields.allowManagedPermissionRulesOnly === true)
  const managedDomains = domainsOfManaged(effective)
  for (const name of ['autoMemoryEnabled', 'autoDreamEnabled'] as const) {
    // A project may turn this setting off, whatever other files say.
    const off = effective.find(({ file, fields }) => isOfProject(file) && fields[name] === false)
    const by = off ?? effective.find(({ fields }) => fields[name] !== undefined)
    if (by === undefined) continue
    single[name] = by.fields[name]
    recordOrigin(name, by.fields[name], by.file)
  }
  const redact = effective.find(({ fields }) => fields.redactSecrets !== undefined)
  // A project may turn this setting on, whatever other files say.
  const asks = effective.find(({ file, fields }) => isOfProject(file) && fields.redactSecrets === true)
  const redaction = asks ?? redact
  if (redaction !== undefined) recordOrigin('redactSecrets', redaction.fields.redactSecrets, redaction.file)
  const env = new Map<string, string>()
  const passEnvironment: string[] = []
  const modelPrices: JsonObject[] = []
  const sandbox: JsonObject[] = []
  for (const { file, fields } of effective) {
    for (const [name, value] of Object.entries(fields.env ?? {})) {
      if (env.has(name)) continue
      env.set(name, value)
      recordOrigin(`env.${name}`, value, file)
    }
    for (const name of fields.passEnvironment ?? []) {
      passEnvironment.push(name)
      recordOrigin('passEnvironment', name, file)
    }
    if (fields.sandbox !== undefined) {
      sandbox.push(fields.sandbox)
      recordOrigin('sandbox', fields.sandbox, file)
    }
    if (fields.modelPrices === undefined) continue
    modelPrices.push(fields.modelPrices)
    recordOrigin('modelPrices', fields.modelPrices, file)
  }
  const together = mergeLists(effective, recordOrigin)
  const mcpServers = mergeServers(effective, recordOrigin)
  const permissions = mergePermissions(effective, warnings, recordOrigin)
  const hooks = mergeHooks(effective, recordOrigin)
  return {
    settings: {
      // This cast is safe: each value was read from the field of this name.
      ...(single as Pick<Settings, (typeof singleFields)[number] | 'autoMemoryEnabled' | 'autoDreamEnabled'>),
      ...(redaction?.fields.redactSecrets !== undefined && { redactSecrets: redaction.fields.redactSecrets }),
      ...(env.size > 0 && { env: Object.fromEntries(env) }),
      ...(passEnvironment.length > 0 && { passEnvironment }),
      ...(modelPrices.length > 0 && { modelPrices }),
      ...(sandbox.length > 0 && { sandbox }),
      ...(permissions !== undefined && { permissions }),
      ...(hasFixedRules && { allowManagedPermissionRulesOnly: true }),
      ...(managedDomains !== undefined && { managedDomains }),
      ...(hooks !== undefined && { hooks }),
      ...together,
      ...(mcpServers.length > 0 && { mcpServers }),
    },
    origins,
  }
}

/** Undefined if others may define domains too. */
function domainsOfManaged(effective: readonly EffectiveFile[]): readonly string[] | undefined {
  const managed = effective.filter(({ file }) => file.level === 'managed')
  const isLocked = managed.some(({ fields: { sandbox } }) => {
    const network = sandbox?.['network']
    return isJsonObject(network) && network['allowManagedDomainsOnly'] === true
  })
  if (!isLocked) return undefined
  return managed.flatMap(({ file, fields: { allow = [] } }) =>
    parseRules({ allow }, file.projectDirectory).allow.flatMap(({ spec }) =>
      spec.kind === 'domain' ? [spec.domain] : [],
    ),
  )
}

/** The value with the highest precedence of each setting. `disableAllHooks` also removes the status line, except for an administrator's. */
function mergeSingleValues(effective: readonly EffectiveFile[], recordOrigin: RecordOrigin): Record<string, unknown> {
  const single: Record<string, unknown> = {}
  const areHooksOff = effective.find(({ fields }) => fields.disableAllHooks !== undefined)?.fields.disableAllHooks
  for (const { file, fields } of effective) {
    for (const name of singleFields) {
      if (fields[name] === undefined || Object.hasOwn(single, name)) continue
      if (name === 'statusLine' && areHooksOff === true && file.level !== 'managed') continue
      single[name] = fields[name]
      recordOrigin(name, fields[name], file)
    }
  }
  return single
}

function recordManagedOnly(effective: readonly EffectiveFile[], recordOrigin: RecordOrigin): void {
  for (const name of managedOnlySettings) {
    const by = effective.find(({ fields }) => fields[name] === true)
    if (by !== undefined) recordOrigin(name, true, by.file)
  }
}

/** Settings that accumulate over all files: no file removes values that another file sets. */
function mergeLists(
  effective: readonly EffectiveFile[],
  recordOrigin: RecordOrigin,
): Pick<Settings, 'protect' | 'budgets' | 'aiSdk'> {
  const protect = mergeGlobs(effective, recordOrigin)
  const budgets = mergeBudgets(effective, recordOrigin)
  const aiSdk = mergeAiSdk(effective, recordOrigin)
  return {
    ...(protect.length > 0 && { protect }),
    ...(budgets.length > 0 && { budgets }),
    ...(aiSdk !== undefined && { aiSdk }),
  }
}

/** No file removes the protection of another one. */
function mergeGlobs(effective: readonly EffectiveFile[], recordOrigin: RecordOrigin): readonly string[] {
  const globs = new Set<string>()
  for (const { file, fields } of effective)
    for (const glob of fields.protect ?? []) {
      if (!globs.has(glob)) recordOrigin('protect', glob, file)
      globs.add(glob)
    }
  return [...globs]
}

/** No file removes a budget of another one. */
function mergeBudgets(effective: readonly EffectiveFile[], recordOrigin: RecordOrigin): readonly BudgetSource[] {
  return effective.flatMap(({ file, fields }) =>
    (fields.budgets ?? []).map((budget) => {
      recordOrigin('budgets', budget, file)
      return { ...budget, from: file.name }
    }),
  )
}

function mergePermissions(
  effective: readonly EffectiveFile[],
  warnings: string[],
  recordOrigin: RecordOrigin,
): PermissionSettings | undefined {
  const disabled = new Set(effective.flatMap(({ fields }) => fields.disabledMcpjsonServers ?? []))
  const replaced = replacedServers(effective, disabled)
  const rules = { allow: [] as RuleText[], deny: [] as RuleText[], ask: [] as RuleText[] }
  const directories: string[] = []
  let defaultMode: PermissionMode | undefined
  let forbidsBypass = false
  let isThere = false
  for (const { file, fields } of effective) {
    for (const name of ['allow', 'deny', 'ask'] as const)
      for (const value of fields[name] ?? []) recordOrigin(`permissions.${name}`, value, file)
    const { projectDirectory } = file
    for (const behavior of ['allow', 'deny', 'ask'] as const)
      for (const rule of fields[behavior] ?? []) {
        const server =
          behavior === 'allow' && file.level === 'user' ? replaced.find((each) => namesServer(rule, each)) : undefined
        if (server === undefined) rules[behavior].push({ rule, projectDirectory })
        else
          warnings.push(
            `permissions.allow in ${file.name}: ${rule} applies to your server ${server}, not to the project's server of the same name.`,
          )
      }
    for (const path of fields.additionalDirectories ?? []) {
      const problem = directoryProblem(path, file)
      if (problem === undefined) {
        directories.push(absolutePath(path, projectDirectory))
        recordOrigin('permissions.additionalDirectories', path, file)
      } else
        warnings.push(`permissions.additionalDirectories in ${file.name}: ${JSON.stringify(path)} ${problem}, ignored.`)
    }
    if (fields.defaultMode !== undefined && defaultMode === undefined) {
      defaultMode = fields.defaultMode
      recordOrigin('permissions.defaultMode', defaultMode, file)
    }
    if (fields.disableBypassPermissionsMode === true && !forbidsBypass) {
      forbidsBypass = true
      recordOrigin('permissions.disableBypassPermissionsMode', 'disable', file)
    }
    isThere ||= listedFields.some((name) => (fields[name] ?? []).length > 0)
  }
  if (!isThere && defaultMode === undefined && !forbidsBypass) return undefined
  return {
    ...rules,
    additionalDirectories: directories,
    ...(defaultMode !== undefined && { defaultMode }),
    ...(forbidsBypass && { disableBypassPermissionsMode: true }),
  }
}

function directoryProblem(path: string, file: ReadFile): string | undefined {
  const { projectDirectory } = file
  if (!isDirectory(absolutePath(path, projectDirectory))) return 'is not a directory'
  // Trust applies to a path. A link at that path could lead elsewhere after the next `git pull`.
  const real = absolutePath(path, realPath(projectDirectory))
  return isOfProject(file) && realPath(real) !== real ? 'is reached through a link' : undefined
}

/** The server with the highest precedence of each name. Any file can disable a server of the project. */
function mergeServers(effective: readonly EffectiveFile[], recordOrigin: RecordOrigin): readonly NamedServer[] {
  const disabled = new Map<string, ReadFile>()
  for (const { file, fields } of effective)
    for (const name of fields.disabledMcpjsonServers ?? []) if (!disabled.has(name)) disabled.set(name, file)
  for (const [name, file] of disabled) recordOrigin('disabledMcpjsonServers', name, file)
  const servers = new Map<string, NamedServer>()
  for (const { file, fields } of effective) {
    const scope = isOfProject(file) ? 'project' : 'own'
    for (const [name, server] of Object.entries(fields.mcpServers ?? {})) {
      if (servers.has(name) || (scope === 'project' && disabled.has(name))) continue
      servers.set(name, { name, server, scope, from: file.name })
      recordOrigin(`mcpServers.${name}`, server, file)
    }
  }
  return [...servers.values()]
}

/** Hooks of every file. `disableAllHooks` removes all except an administrator's. */
function mergeHooks(effective: readonly EffectiveFile[], recordOrigin: RecordOrigin): HookSettings | undefined {
  const off = effective.find(({ fields }) => fields.disableAllHooks !== undefined)
  if (off !== undefined) recordOrigin('disableAllHooks', off.fields.disableAllHooks, off.file)
  const events = new Map<string, HookGroup[]>()
  for (const { file, fields } of effective) {
    if (off?.fields.disableAllHooks === true && file.level !== 'managed') continue
    for (const [event, groups] of Object.entries(fields.hooks ?? {})) {
      if (groups.length === 0) continue
      events.set(event, [...(events.get(event) ?? []), ...groups])
      recordOrigin(`hooks.${event}`, groups, file)
    }
  }
  return events.size === 0 ? undefined : Object.fromEntries(events)
}

function isOfProject({ level }: ReadFile): boolean {
  return level === 'project' || level === 'local'
}

/** A file, and its servers in effect. */
interface ServersFile {
  readonly file: Pick<ReadFile, 'level'>
  readonly fields: Pick<Fields, 'mcpServers'>
}

// Spec R-MCP-17.
/** Names of servers, in the form of tool names, of the project that replace one of the person: rules for the person's server do not apply to them. */
function replacedServers(effective: readonly ServersFile[], disabled: ReadonlySet<string>): readonly string[] {
  const first = new Map<string, { readonly server: JsonObject; readonly isOfProject: boolean }>()
  const replaced = new Set<string>()
  for (const { file, fields } of effective) {
    const isOfProject = file.level === 'project' || file.level === 'local'
    for (const [given, server] of Object.entries(fields.mcpServers ?? {})) {
      if (isOfProject && disabled.has(given)) continue
      const name = validServerName(given)
      const found = first.get(name)
      if (found === undefined) first.set(name, { server, isOfProject })
      else if (found.isOfProject && !isOfProject && !isDeepStrictEqual(found.server, server)) replaced.add(name)
    }
  }
  return [...replaced]
}

/** Whether a rule names this server, or several including this one. A rule for all servers names none. */
function namesServer(rule: string, server: string): boolean {
  const written = /^\s*(mcp__[^(\s]*)/.exec(rule)?.[1]
  if (written === undefined) return false
  const tools = `mcp__${server}__`
  const star = written.indexOf('*')
  if (star === -1) return `${written}__` === tools || written.startsWith(tools)
  const beginning = written.slice(0, star)
  return beginning !== 'mcp__' && (tools.startsWith(beginning) || beginning.startsWith(tools))
}
