import { ConfigurationError, type LimitsChange, type QueryOptions, type SettingsChange } from '@halting/core'
import { durationMs } from '@halting/core/adapters'
import type { Session } from '@halting/core/session'
import { startOfRecord, type StepRecord } from '@halting/core/steps'
import { limitFieldNames, type LimitFieldName, type Settings } from '@halting/policy/settings'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'

/** The source of a limit of a session. */
export type LimitSource = 'choice' | 'agent' | 'settings' | 'default'

/** Sources by limit; absent for a limit that is not set. */
export type LimitSources = { readonly [name in LimitFieldName]?: LimitSource }

/** The default cost limit of runs. */
export interface RunLimitDefault {
  /** US dollars of one run. */
  readonly maxRunUsd: number
  /** Name of the default, such as `the default of -p`. */
  readonly from: string
}

/** Rules for combining limits of choices and settings. */
export interface LimitRules extends Pick<SessionPorts, 'nameOf'> {
  readonly runLimit?: RunLimitDefault | undefined
  readonly waitDefault?: WaitDefault | undefined
  /**
   * Whether choices may raise limits of the settings. Choices by another party, such as the client of a session on a
   * cluster, may only lower them.
   */
  readonly choicesMayRaise: boolean
}

// Spec R-LIM-4.
/**
 * Completes the choices with limits of the settings, and names the source of each limit. Choices precede the user's
 * and the project's settings, but never exceed an administrator's limits. A warning names ignored values.
 */
export function withLimits<Choices extends SessionChoices>(
  choices: Choices,
  { limits = {}, managedLimits = {} }: Pick<Settings, 'limits' | 'managedLimits'>,
  { runLimit, choicesMayRaise, nameOf }: LimitRules,
  warnings: string[],
): { readonly choices: Choices; readonly limitSources: LimitSources } {
  const ceilings = choicesMayRaise ? managedLimits : limits
  const chosen: { [name in LimitFieldName]?: number } = {}
  const limitSources: { [name in LimitFieldName]?: LimitSource } = {}
  for (const name of limitFieldNames) {
    const [choice, set, ceiling] = [choices[name], limits[name], ceilings[name] ?? Infinity]
    if (choice !== undefined && choice <= ceiling) {
      limitSources[name] = 'choice'
      continue
    }
    if (choice !== undefined)
      warnings.push(`${nameOf(name)} is ignored: the settings limit it to ${ceiling}. halting config shows which.`)
    const value = set === null ? Infinity : (set ?? (name === 'maxRunUsd' ? runLimit?.maxRunUsd : undefined))
    if (value === undefined) continue
    limitSources[name] = set === undefined ? 'default' : 'settings'
    chosen[name] = value
  }
  return { choices: { ...choices, ...chosen }, limitSources }
}

/** The frontend's default for how long runs wait for services. */
export interface WaitDefault {
  /** In milliseconds of wall-clock time. */
  readonly ms: number
  /** The default as written in a file, such as `24h`. */
  readonly written: string
  /** Where the default applies, such as `in editors`. */
  readonly from: string
}

// Spec R-SERV-12.
/** Completes the choices with how long a run waits for services, and the source of that value: like `withLimits`. */
export function withServiceWait<Choices extends SessionChoices>(
  choices: Choices,
  { waitForLimits: set, managedWaitForLimits: managed }: Pick<Settings, 'waitForLimits' | 'managedWaitForLimits'>,
  { waitDefault, choicesMayRaise, nameOf }: LimitRules,
  warnings: string[],
): { readonly choices: Choices; readonly waitSource?: LimitSource } {
  const { waitForLimits: chosen } = choices
  const ceiling = (choicesMayRaise ? managed : set) ?? Infinity
  if (chosen !== undefined && chosen <= ceiling) return { choices, waitSource: 'choice' }
  if (chosen !== undefined)
    warnings.push(
      `${nameOf('waitForLimits')} is ignored: the settings limit waits to ${ceiling / 1_000} s. halting config shows which.`,
    )
  const waitForLimits = set ?? waitDefault?.ms
  if (waitForLimits === undefined) return { choices }
  return { choices: { ...choices, waitForLimits }, waitSource: set === undefined ? 'default' : 'settings' }
}

/** The session's names of limits, by the names of settings. */
const inSession: { readonly [name in LimitFieldName]: Exclude<keyof LimitsChange, 'maxGoalTries'> } = {
  maxTurns: 'maxTurns',
  maxRunUsd: 'maxRunUsd',
  maxBudgetUsd: 'maxBudgetUsd',
  maxTokens: 'maxTotalTokens',
  maxDuration: 'maxDurationMs',
  maxToolCalls: 'maxToolCalls',
}

/**
 * Determines what happens at a limit: the choice, or the setting if questions can be answered. No answer can raise a
 * limit above an administrator's.
 */
export function pauseOptions(
  { onLimit, pauseFor }: Pick<SessionChoices, 'onLimit' | 'pauseFor'>,
  settings: Settings,
  {
    answersQuestions,
    limitCeilings,
  }: {
    readonly answersQuestions: boolean
    readonly limitCeilings?: ((settings: Settings) => LimitsChange) | undefined
  },
): Partial<Pick<QueryOptions, 'onLimit' | 'pauseForMs' | 'limitCeilings'>> {
  const pauseForMs = pauseFor ?? (settings.pauseFor === undefined ? undefined : durationMs(settings.pauseFor))
  return {
    onLimit: onLimit ?? (answersQuestions ? (settings.onLimit ?? 'end') : 'end'),
    ...(pauseForMs !== undefined && { pauseForMs }),
    limitCeilings: lowestOf(ceilingsOf(settings), limitCeilings?.(settings) ?? {}),
  }
}

function lowestOf(one: LimitsChange, other: LimitsChange): LimitsChange {
  const lowest: { [limit: string]: number | null } = { ...one }
  for (const [name, most] of Object.entries(other))
    if (most !== null) lowest[name] = Math.min(most, lowest[name] ?? Infinity)
  return lowest
}

/** The maximum values that an administrator allows. */
export function ceilingsOf({ managedLimits = {} }: Pick<Settings, 'managedLimits'>): LimitsChange {
  return Object.fromEntries(
    limitFieldNames.flatMap((name) => {
      const most = managedLimits[name] ?? null
      return most === null ? [] : [[inSession[name], most] as const]
    }),
  )
}

/**
 * Wraps a session: it rejects limits above an administrator's with a ConfigurationError, and in that case sets
 * nothing.
 */
export function withinManagedLimits(
  session: Session,
  { managedLimits = {} }: Pick<Settings, 'managedLimits'>,
): Session {
  if (Object.keys(managedLimits).length === 0) return session
  const set = session.set.bind(session)
  return Object.assign(session, {
    // `resume` also sets its limits with this method.
    set(change: SettingsChange): void {
      for (const name of limitFieldNames) {
        const [most, requested] = [managedLimits[name] ?? Infinity, change.limits?.[inSession[name]]]
        if (requested !== undefined && (requested ?? Infinity) > most)
          throw new ConfigurationError(
            `limits.${name} is limited to ${most} by an administrator's settings (see halting config). Nothing was set.`,
          )
      }
      set(change)
    },
  })
}

interface CurrentLimits {
  readonly choices: SessionChoices
  readonly limitSources?: LimitSources | undefined
  readonly settings: Pick<Settings, 'managedLimits'>
}

interface LeftOpen {
  /** Records of a run that an earlier process left open. */
  readonly open: readonly StepRecord[]
  /**
   * Whether the choices were made for this resume, and not by the client that first opened a session stored elsewhere.
   */
  readonly areChoicesNew: boolean
}

// Spec R-LIM-4b.
/**
 * Wraps a session that resumes the run of an earlier process within the current limits: newly typed limits and an
 * administrator's limits override limits that were set during that run. Its other settings remain in force.
 */
export function resumedWithin(
  session: Session,
  { choices, limitSources = {}, settings: { managedLimits = {} } }: CurrentLimits,
  { open, areChoicesNew }: LeftOpen,
): Session {
  const recorded = recordedLimits(open)
  const due = new Map<keyof LimitsChange, number | null>()
  for (const name of limitFieldNames) {
    const before = recorded[inSession[name]]
    if (before === undefined) continue
    const isTyped = areChoicesNew && limitSources[name] === 'choice'
    const most = (isTyped ? choices[name] : managedLimits[name]) ?? Infinity
    const within = isTyped ? most : Math.min(before ?? Infinity, most)
    if (within !== (before ?? Infinity)) due.set(inSession[name], within === Infinity ? null : within)
  }
  if (due.size === 0) return session
  const [set, prompt, resume] = [session.set.bind(session), session.prompt.bind(session), session.resume.bind(session)]
  return Object.assign(session, {
    // Limits that a user sets from now on are newer than both.
    set(change: SettingsChange): void {
      set(change)
      for (const name of Object.keys(change.limits ?? {})) due.delete(name as keyof LimitsChange)
    },
    // A new prompt closes the resumed run.
    prompt(...input: Parameters<Session['prompt']>): string {
      due.clear()
      return prompt(...input)
    },
    resume(limits?: LimitsChange): void {
      if (due.size > 0) set({ limits: Object.fromEntries(due) })
      due.clear()
      resume(limits)
    },
  })
}

/** The limits that were set during a run, according to its records. */
function recordedLimits(records: readonly StepRecord[]): LimitsChange {
  const changes = records.flatMap((record) =>
    record.type === 'control' ? (record.control.settings?.limits ?? []) : [],
  )
  return Object.assign({}, startOfRecord(records).start.spent.settings?.limits, ...changes) as LimitsChange
}
