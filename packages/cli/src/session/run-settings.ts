import { decidedBefore, environmentWith } from '@halting/agent'
import {
  type LoadedSettings,
  loadSettings,
  type Origin,
  type Settings,
  type SettingSource,
} from '@halting/policy/settings'
import { homeFolder } from '@halting/policy/files'
import type { Plugins } from '@halting/agent/instructions'
import { ConfigurationError, type QueryOptions } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { checkModelName } from './model-names.ts'
import { hooksLine, pluginsOf, problemLine } from './plugins.ts'

/** The settings of a run, and what they make of its flags and its environment. */
export interface RunSettings extends LoadedSettings {
  readonly flags: Flags
  readonly env: Program['env']
  readonly plugins: Plugins
}

export const noSettings: LoadedSettings = { settings: {}, warnings: [], files: [], origins: [], ignored: [] }

/** @throws ConfigurationError for settings that are not right. */
export async function settingsFor(flags: Flags, { env, cwd }: Pick<Program, 'env' | 'cwd'>): Promise<RunSettings> {
  const loaded = await loadSettings({
    cwd,
    home: homeFolder(env),
    env,
    given: flags.settings,
    sources: flags.settingSources && sources.filter((source) => flags.settingSources?.includes(source)),
    nearest,
    trustedBy: trustedBy(flags, env),
  })
  const warnings = [...loaded.warnings]
  const notice = trustNotice(loaded)
  if (notice !== undefined) warnings.push(notice)
  const merged = environmentWith(loaded.settings, env, warnings)
  const origins = loaded.origins.filter((origin) => !isVoid(origin, loaded.settings, merged))
  const named = withSmallModel(withModel(flags, loaded, merged, warnings), loaded, merged, warnings)
  const counting = withoutRules(named, loaded, warnings)
  const plugins = await pluginsOf(flags, cwd)
  warnings.push(...plugins.problems.map(problemLine), ...hooksLine({ plugins, origins }))
  return { ...loaded, origins, flags: counting, env: merged, warnings, plugins }
}

/** What is read from the files, and does not count for all that: it is not told as in force. */
function isVoid({ setting, value }: Origin, settings: Settings, env: Program['env']): boolean {
  // Nothing shows it yet.
  if (setting === 'statusLine') return true
  if (setting === 'model') return value !== 'default' && modelOf(settings, env) === undefined
  if (setting === 'permissions.defaultMode')
    return value === 'bypassPermissions' && settings.permissions?.disableBypassPermissionsMode === true
  return setting.startsWith('env.') && decidedBefore.has(setting.slice('env.'.length))
}

/** What is read from the process itself, such as a proxy, is the same for the run. */
export function applyEnvironment({ settings }: RunSettings): void {
  for (const [name, value] of Object.entries(settings.env ?? {}))
    if (!decidedBefore.has(name)) process.env[name] = value
}

/** What trusts the folder for this run. */
export function trustedBy({ trust, settingSources: sources }: Flags, env: Program['env']): string | undefined {
  if (trust === true) return '--trust'
  if (env['HALTING_TRUST_FOLDER'] === '1') return 'HALTING_TRUST_FOLDER=1'
  return sources?.includes('project') === true ? '--setting-sources' : undefined
}

/** The flag goes first, then the environment, then the settings. Other programs know other names: one that we do not know is told. */
function withModel(flags: Flags, { settings }: LoadedSettings, env: Program['env'], warnings: string[]): Flags {
  const isSaid =
    flags.model !== undefined || flags.script !== undefined || (env['ANTHROPIC_MODEL']?.trim() ?? '') !== ''
  if (isSaid) return flags
  const model = modelOf(settings, env, (message) => warnings.push(`model in the settings does not count: ${message}`))
  return model === undefined ? flags : { ...flags, model }
}

/** The same for the model of what comes after a run. */
function withSmallModel(flags: Flags, { settings }: LoadedSettings, env: Program['env'], warnings: string[]): Flags {
  if (flags.smallModel !== undefined || flags.script !== undefined) return flags
  const named = env['ANTHROPIC_SMALL_FAST_MODEL']?.trim() || settings.smallModel
  if (named === undefined) return flags
  const smallModel = modelOf({ model: named }, env, (message) =>
    warnings.push(`The small model does not count: ${message}`),
  )
  return smallModel === undefined ? flags : { ...flags, smallModel }
}

/** Rules of the command line allow nothing where an administrator's alone do. */
function withoutRules(flags: Flags, { settings }: LoadedSettings, warnings: string[]): Flags {
  if (settings.allowManagedPermissionRulesOnly !== true || flags.allowedTools === undefined) return flags
  warnings.push(
    "--allowedTools does not count: an administrator's settings say allowManagedPermissionRulesOnly; halting config tells which.",
  )
  const { allowedTools: _, ...others } = flags
  return others
}

/** The model that the settings name, where it is one that can be asked for. */
export function modelOf(
  { model: given }: Settings,
  env: Program['env'],
  onUnknown?: (message: string) => void,
): string | undefined {
  if (given === undefined || given === 'default') return undefined
  // Another program writes the window behind the name.
  const model = given.replace(/\[\d+m\]$/, '')
  try {
    checkModelName(model, env)
    return model
  } catch (thrown) {
    // A key where a name belongs is a wrong name too; it is not repeated.
    if (!(thrown instanceof UsageError) && !(thrown instanceof ConfigurationError)) throw thrown
    onUnknown?.(thrown.message)
    return undefined
  }
}

/** One line about all that the project's settings would have done. */
function trustNotice({ trust, ignored }: LoadedSettings): string | undefined {
  const waiting = ignored.filter(({ forTrust }) => forTrust)
  if (trust === undefined || waiting.length === 0) return undefined
  const folder = oneLine(trust.folder, 200)
  return trust.trusted
    ? `${folder} is trusted (${trust.because}), but its settings bring what was not named then and does not count: ${kinds(waiting)}. ${todoFor(waiting)}`
    : `${folder} is not trusted (${trust.because}): its ${kinds(waiting)} do not count. ${todoFor(waiting)}`
}

const sources: readonly SettingSource[] = ['user', 'project', 'local']

function todoFor(waiting: LoadedSettings['ignored']): string {
  const shows = 'halting trust shows them and has them count'
  const named = waiting.filter(({ onlyByName }) => onlyByName === true)
  if (named.length === waiting.length) return `${shows}.`
  return `${shows}; --trust does so for one run${named.length === 0 ? '' : `, without ${kinds(named)}`}.`
}

function kinds(waiting: LoadedSettings['ignored']): string {
  const counts = new Map<string, number>()
  for (const { setting } of waiting) counts.set(setting, (counts.get(setting) ?? 0) + 1)
  return [...counts].map(([setting, count]) => (count === 1 ? setting : `${setting} (${count})`)).join(', ')
}

/** What `system/init` tells of trust; nothing where nothing depends on it. */
export function trustInit({ trust, ignored }: LoadedSettings): NonNullable<QueryOptions['init']> {
  if (trust === undefined) return {}
  const { folder, trusted, because } = trust
  const waiting = ignored.filter(({ forTrust }) => forTrust)
  const told = new Set(waiting.map(({ setting, from }) => `${setting} in ${from}`))
  return { trust: { folder, trusted, because, ignored: [...told], todo: waiting.length === 0 ? '' : todoFor(waiting) } }
}
