import type { SessionChoices } from './choices.ts'
import type { SessionNotice, SessionPorts } from './ports.ts'
import { decidedBefore, environmentWith } from '../coding-agent/settings-of.ts'
import { homeFolder } from '@halting/journal/files'
import {
  type LoadedSettings,
  type LoadOptions,
  loadSettings,
  type Origin,
  type Settings,
  type SettingSource,
} from '@halting/policy/settings'
import type { Plugins } from '../plugins/plugin.ts'
import { ConfigurationError, type QueryOptions } from '@halting/core'
import { usualMaxTurns } from '@halting/core/adapters'
import { nearest } from '../nearest.ts'
import {
  type LimitSource,
  type LimitSources,
  type RunLimitDefault,
  type WaitDefault,
  withLimits,
  withWait,
} from './chosen-limits.ts'
import { checkModelName } from './model-names.ts'
import { hooksNotice, pluginsOf } from './plugins.ts'

/** The settings of a session, and what they make of its choices and its environment. */
export interface RunSettings<Choices extends SessionChoices = SessionChoices> extends LoadedSettings {
  /** The choices, with what the settings add to them. */
  readonly choices: Choices
  /** The environment, with that of the settings. */
  readonly env: SessionPorts['env']
  /** The plugins that were loaded, and the problems with others. */
  readonly plugins: Plugins
  /** What trusts the folder for this session (`SessionPorts.trustedBy`). */
  readonly trustedBy?: SessionPorts['trustedBy']
  /** Who said each limit among the choices. */
  readonly limitSources?: LimitSources
  /** Who said how long a run waits for services. */
  readonly waitSource?: LimitSource
  /** The limit of dollars for runs that nobody limited, where there is one. */
  readonly runLimit?: RunLimitDefault
}

/** How the limits of a session come about, beside choices and settings. */
export interface LimitOptions {
  /** A limit of dollars for runs that nobody limited. None without it. */
  readonly runLimit?: RunLimitDefault | undefined
  /** How long runs wait for services where nobody says it. */
  readonly waitDefault?: WaitDefault | undefined
  /** The choices are somebody else's, such as of who opens a session on a cluster: they do not raise what the settings say. */
  readonly choicesOnlyLower?: boolean
}

/** The settings where no settings file counts. */
export const noSettings: LoadedSettings = { settings: {}, warnings: [], files: [], origins: [], ignored: [] }

type SettingsPorts = Pick<SessionPorts, 'env' | 'cwd' | 'trustedBy' | 'nameOf' | 'wordNotice'>

/** Reads the settings of a session, and what they make of its choices. @throws ConfigurationError for settings that are not right. */
export async function settingsOf<Choices extends SessionChoices>(
  choices: Choices,
  { env, cwd, trustedBy, nameOf, wordNotice }: SettingsPorts,
  { runLimit: usualRunLimit, waitDefault, choicesOnlyLower = false }: LimitOptions = {},
): Promise<RunSettings<Choices>> {
  // Who typed a budget for the session has limited what its runs spend.
  const runLimit = choices.maxBudgetUsd === undefined ? usualRunLimit : undefined
  const loaded = await loadSettings({
    cwd,
    home: homeFolder(env),
    env,
    given: choices.settings,
    chosen: chosenSettings(choices, nameOf),
    sources: choices.settingSources && sources.filter((source) => choices.settingSources?.includes(source)),
    // Who drives the program says which settings are read, and not that a person's money is spent: that is `ignoreStandingBudgets`.
    alwaysOwn: ['budgets', 'modelPrices', 'sessionStore'],
    nearest,
    trustedBy,
    defaultLimits: {
      maxTurns: { value: usualMaxTurns, from: 'the default' },
      ...(runLimit !== undefined && { maxRunUsd: { value: runLimit.maxRunUsd, from: runLimit.from } }),
      ...(waitDefault !== undefined && {
        waitForLimits: { ...waitDefault, value: waitDefault.ms, from: `the default ${waitDefault.from}` },
      }),
    },
  })
  const warnings = [...loaded.warnings]
  warnings.push(...trustNotices(loaded).map(wordNotice))
  const merged = environmentWith(loaded.settings, env, warnings)
  const origins = loaded.origins.filter((origin) => !isVoid(origin, loaded.settings, merged))
  const named = withSmallModel(withModel(choices, loaded, merged, warnings), loaded, merged, warnings)
  const limitRules = { runLimit, waitDefault, choicesMayRaise: !choicesOnlyLower, nameOf }
  const limited = withLimits(named, loaded.settings, limitRules, warnings)
  const waiting = withWait(limited.choices, loaded.settings, limitRules, warnings)
  const counting = withoutRules(waiting.choices, loaded, warnings, nameOf('allowedTools'))
  const plugins = await pluginsOf(choices, cwd)
  const problems = plugins.problems.map((problem) => ({ kind: 'plugin_problem', problem }) as const)
  warnings.push(...[...problems, ...hooksNotice({ plugins, origins })].map(wordNotice))
  const { limitSources } = limited
  const { waitSource } = waiting
  return {
    ...loaded,
    origins,
    choices: counting,
    env: merged,
    warnings,
    plugins,
    trustedBy,
    limitSources,
    ...(waitSource !== undefined && { waitSource }),
    ...(runLimit !== undefined && { runLimit }),
  }
}

/** Choices that settings may say, too: an administrator's go before them. */
export function chosenSettings(
  { toolProfile }: Pick<SessionChoices, 'toolProfile'>,
  nameOf: SessionPorts['nameOf'],
): LoadOptions['chosen'] {
  return toolProfile === undefined ? undefined : { name: nameOf('toolProfile'), content: { toolProfile } }
}

/** What is read from the files, and does not count for all that: it is not told as in force. */
function isVoid({ setting, value }: Origin, settings: Settings, env: SessionPorts['env']): boolean {
  if (setting === 'model') return value !== 'default' && modelOf(settings, env) === undefined
  if (setting === 'permissions.defaultMode')
    return value === 'bypassPermissions' && settings.permissions?.disableBypassPermissionsMode === true
  return setting.startsWith('env.') && decidedBefore.has(setting.slice('env.'.length))
}

/** The choice goes first, then the environment, then the settings. Other programs know other names: one that we do not know is told. */
function withModel<Choices extends SessionChoices>(
  choices: Choices,
  { settings }: LoadedSettings,
  env: SessionPorts['env'],
  warnings: string[],
): Choices {
  const isSaid =
    choices.model !== undefined || choices.script !== undefined || (env['ANTHROPIC_MODEL']?.trim() ?? '') !== ''
  if (isSaid) return choices
  const model = modelOf(settings, env, (message) => warnings.push(`model in the settings is ignored: ${message}`))
  return model === undefined ? choices : { ...choices, model }
}

/** The same for the model of what comes after a run. */
function withSmallModel<Choices extends SessionChoices>(
  choices: Choices,
  { settings }: LoadedSettings,
  env: SessionPorts['env'],
  warnings: string[],
): Choices {
  if (choices.smallModel !== undefined || choices.script !== undefined) return choices
  const named = env['ANTHROPIC_SMALL_FAST_MODEL']?.trim() || settings.smallModel
  if (named === undefined) return choices
  const smallModel = modelOf({ ...settings, model: named }, env, (message) =>
    warnings.push(`The small model is ignored: ${message}`),
  )
  return smallModel === undefined ? choices : { ...choices, smallModel }
}

/** Rules that a session is given allow nothing where an administrator's alone do. */
function withoutRules<Choices extends SessionChoices>(
  choices: Choices,
  { settings }: LoadedSettings,
  warnings: string[],
  name: string,
): Choices {
  if (settings.allowManagedPermissionRulesOnly !== true || choices.allowedTools === undefined) return choices
  warnings.push(
    `${name} is ignored: an administrator's settings set allowManagedPermissionRulesOnly (see halting config).`,
  )
  const { allowedTools: _, ...others } = choices
  // True: every choice is optional.
  return others as Choices
}

/** The model that the settings name, where it is one that can be asked for. */
export function modelOf(
  settings: Pick<Settings, 'model' | 'aiSdk'>,
  env: SessionPorts['env'],
  onUnknown?: (message: string) => void,
): string | undefined {
  const { model: given } = settings
  if (given === undefined || given === 'default') return undefined
  // Another program writes the window behind the name.
  const model = given.replace(/\[\d+m\]$/, '')
  try {
    checkModelName(model, env, settings)
    return model
  } catch (thrown) {
    // A key where a name belongs is a wrong name too; it is not repeated.
    if (!(thrown instanceof ConfigurationError)) throw thrown
    onUnknown?.(thrown.message)
    return undefined
  }
}

/** One notice about all that the project's settings would have done. */
function trustNotices({ trust, ignored }: LoadedSettings): readonly SessionNotice[] {
  const waiting = ignored.filter(({ forTrust }) => forTrust)
  if (trust === undefined || waiting.length === 0) return []
  return [{ kind: 'untrusted_settings', folder: trust, ignored: waiting }]
}

const sources: readonly SettingSource[] = ['user', 'project', 'local']

/** The fields of `system/init` about trust; none where nothing depends on it. */
export function trustInit(
  { trust, ignored }: LoadedSettings,
  { wordNotice }: Pick<SessionPorts, 'wordNotice'>,
): NonNullable<QueryOptions['init']> {
  if (trust === undefined) return {}
  const { folder, trusted, because } = trust
  const waiting = ignored.filter(({ forTrust }) => forTrust)
  const places = new Set(waiting.map(({ setting, from }) => `${setting} in ${from}`))
  const todo = waiting.length === 0 ? '' : wordNotice({ kind: 'trust_needed', ignored: waiting })
  return { trust: { folder, trusted, because, ignored: [...places], todo } }
}
