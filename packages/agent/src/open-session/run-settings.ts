import type { SessionChoices } from './choices.ts'
import type { SessionNotice, SessionPorts } from './ports.ts'
import { bootstrapVariables, environmentWith } from '../coding-agent/settings-of.ts'
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
import { defaultMaxTurns } from '@halting/core/adapters'
import { nearest } from '../nearest.ts'
import {
  type LimitSource,
  type LimitSources,
  type RunLimitDefault,
  type WaitDefault,
  withLimits,
  withServiceWait,
} from './chosen-limits.ts'
import { checkModelName } from './model-names.ts'
import { hooksNotice, pluginsOf } from './plugins.ts'

/** The settings of a session, and the resulting choices and environment. */
export interface RunSettings<Choices extends SessionChoices = SessionChoices> extends LoadedSettings {
  /** The choices, completed from the settings. */
  readonly choices: Choices
  /** The environment, including variables of the settings. */
  readonly env: SessionPorts['env']
  /** The loaded plugins, and the problems of others. */
  readonly plugins: Plugins
  /** The reason why the folder is trusted for this session (`SessionPorts.trustedBy`). */
  readonly trustedBy?: SessionPorts['trustedBy']
  /** The source of each limit among the choices. */
  readonly limitSources?: LimitSources
  /** The source of how long a run waits for services. */
  readonly waitSource?: LimitSource
  /** The default cost limit of runs; absent if none exists. */
  readonly runLimit?: RunLimitDefault
}

/** The frontend's defaults and rules for limits. */
export interface LimitOptions {
  /** The default cost limit of runs (default: none). */
  readonly runLimit?: RunLimitDefault | undefined
  /** The default for how long runs wait for services. */
  readonly waitDefault?: WaitDefault | undefined
  /**
   * Whether another party made the choices, such as a client of a session on a cluster: such choices must not raise
   * limits of the settings.
   */
  readonly choicesOnlyLower?: boolean
}

/** The settings if no settings file applies. */
export const noSettings: LoadedSettings = { settings: {}, warnings: [], files: [], origins: [], ignored: [] }

type SettingsPorts = Pick<SessionPorts, 'env' | 'cwd' | 'trustedBy' | 'nameOf' | 'wordNotice'>

/**
 * Reads the settings of a session and completes its choices.
 * @throws ConfigurationError for invalid settings.
 */
export async function settingsOf<Choices extends SessionChoices>(
  choices: Choices,
  { env, cwd, trustedBy, nameOf, wordNotice }: SettingsPorts,
  { runLimit: usualRunLimit, waitDefault, choicesOnlyLower = false }: LimitOptions = {},
): Promise<RunSettings<Choices>> {
  // A session budget that the user typed already limits its runs.
  const runLimit = choices.maxBudgetUsd === undefined ? usualRunLimit : undefined
  const loaded = await loadSettings({
    cwd,
    home: homeFolder(env),
    env,
    given: choices.settings,
    chosen: chosenSettings(choices, nameOf),
    sources: choices.settingSources && sources.filter((source) => choices.settingSources?.includes(source)),
    // The host selects which settings are read, but may not disable the user's budgets: only `ignoreStandingBudgets`
    // does that.
    alwaysOwn: ['budgets', 'modelPrices', 'sessionStore'],
    nearest,
    trustedBy,
    defaultLimits: {
      maxTurns: { value: defaultMaxTurns, from: 'the default' },
      ...(runLimit !== undefined && { maxRunUsd: { value: runLimit.maxRunUsd, from: runLimit.from } }),
      ...(waitDefault !== undefined && {
        waitForLimits: { ...waitDefault, value: waitDefault.ms, from: `the default ${waitDefault.from}` },
      }),
    },
  })
  const warnings = [...loaded.warnings]
  warnings.push(...trustNotices(loaded).map(wordNotice))
  const merged = environmentWith(loaded.settings, env, warnings)
  const origins = loaded.origins.filter((origin) => !hasNoEffect(origin, loaded.settings, merged))
  const named = withSmallModel(withModel(choices, loaded, merged, warnings), loaded, merged, warnings)
  const limitRules = { runLimit, waitDefault, choicesMayRaise: !choicesOnlyLower, nameOf }
  const limited = withLimits(named, loaded.settings, limitRules, warnings)
  const waiting = withServiceWait(limited.choices, loaded.settings, limitRules, warnings)
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

/** Choices that are also settings; an administrator's settings take precedence. */
export function chosenSettings(
  { toolProfile }: Pick<SessionChoices, 'toolProfile'>,
  nameOf: SessionPorts['nameOf'],
): LoadOptions['chosen'] {
  return toolProfile === undefined ? undefined : { name: nameOf('toolProfile'), content: { toolProfile } }
}

/** Whether a value of a file has no effect, and so is not reported as effective. */
function hasNoEffect({ setting, value }: Origin, settings: Settings, env: SessionPorts['env']): boolean {
  if (setting === 'model') return value !== 'default' && modelOf(settings, env) === undefined
  if (setting === 'permissions.defaultMode')
    return value === 'bypassPermissions' && settings.permissions?.disableBypassPermissionsMode === true
  return setting.startsWith('env.') && bootstrapVariables.has(setting.slice('env.'.length))
}

/**
 * Determines the model: the choice, then the environment, then the settings. Reports a name of another program that is
 * unknown to this program.
 */
function withModel<Choices extends SessionChoices>(
  choices: Choices,
  { settings }: LoadedSettings,
  env: SessionPorts['env'],
  warnings: string[],
): Choices {
  const isSet =
    choices.model !== undefined || choices.script !== undefined || (env['ANTHROPIC_MODEL']?.trim() ?? '') !== ''
  if (isSet) return choices
  const model = modelOf(settings, env, (message) => warnings.push(`model in the settings is ignored: ${message}`))
  return model === undefined ? choices : { ...choices, model }
}

/** The same for the model of work after a run. */
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

/** Removes allow rules of choices if only an administrator's rules apply. */
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
  // Type assertion: every choice is optional.
  return others as Choices
}

/** The model that the settings name, if it can be used. */
export function modelOf(
  settings: Pick<Settings, 'model' | 'aiSdk'>,
  env: SessionPorts['env'],
  onUnknown?: (message: string) => void,
): string | undefined {
  const { model: modelSetting } = settings
  if (modelSetting === undefined || modelSetting === 'default') return undefined
  // Another program appends the window size to the name.
  const model = modelSetting.replace(/\[\d+m\]$/, '')
  try {
    checkModelName(model, env, settings)
    return model
  } catch (thrown) {
    // An API key in place of a name is also invalid; the message does not repeat it.
    if (!(thrown instanceof ConfigurationError)) throw thrown
    onUnknown?.(thrown.message)
    return undefined
  }
}

/** One notice about everything in the project's settings that needs trust. */
function trustNotices({ trust, ignored }: LoadedSettings): readonly SessionNotice[] {
  const waiting = ignored.filter(({ forTrust }) => forTrust)
  if (trust === undefined || waiting.length === 0) return []
  return [{ kind: 'untrusted_settings', folder: trust, ignored: waiting }]
}

const sources: readonly SettingSource[] = ['user', 'project', 'local']

/** The fields of `system/init` about trust; empty if nothing depends on it. */
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
