import { ConfigurationError, type LimitsChange, type QueryOptions, type SettingsChange } from '@halting/core'
import { durationMs } from '@halting/core/adapters'
import type { Session } from '@halting/core/session'
import { beginningOf, type StepRecord } from '@halting/core/steps'
import { limitFieldNames, type LimitFieldName, type Settings } from '@halting/policy/settings'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'

/** Who said a limit of a session. */
export type LimitSource = 'choice' | 'agent' | 'settings' | 'default'

/** By the name of the limit; absent where nobody says anything. */
export type LimitSources = { readonly [name in LimitFieldName]?: LimitSource }

/** A limit of dollars for runs that nobody limited. */
export interface RunLimitDefault {
  /** US dollars of one run. */
  readonly maxRunUsd: number
  /** What it is called, such as `the default of -p`. */
  readonly from: string
}

/** What limits are made of beside choices and settings. */
export interface LimitRules extends Pick<SessionPorts, 'nameOf'> {
  readonly runLimit?: RunLimitDefault | undefined
  readonly waitDefault?: WaitDefault | undefined
  /** Choices may raise what the settings say. Those of somebody else, such as who opens a session on a cluster, only lower it. */
  readonly choicesMayRaise: boolean
}

// Spec R-LIM-4.
/**
 * The choices with the limits of the settings where choices say nothing, and who said each. Choices go before the person's own settings and
 * those of a project, and never beyond those of an administrator; a warning names what does not count.
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

/** How long the runs of a frontend wait for services where nobody says it. */
export interface WaitDefault {
  /** Milliseconds by the wall clock. */
  readonly ms: number
  /** As a file would say it, such as `24h`. */
  readonly written: string
  /** Where it holds, such as `in editors`. */
  readonly from: string
}

// Spec R-SERV-12.
/** The choices with how long a run waits for services, and who said so: as `withLimits` does for limits. */
export function withWait<Choices extends SessionChoices>(
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

/** Limits by the names of settings, as a session calls them. */
const inSession: { readonly [name in LimitFieldName]: Exclude<keyof LimitsChange, 'maxGoalTries'> } = {
  maxTurns: 'maxTurns',
  maxRunUsd: 'maxRunUsd',
  maxBudgetUsd: 'maxBudgetUsd',
  maxTokens: 'maxTotalTokens',
  maxDuration: 'maxDurationMs',
  maxToolCalls: 'maxToolCalls',
}

/** What happens at a limit: as the choices say, or the settings where somebody answers. Nobody raises a limit beyond those of an administrator. */
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

/** What an administrator allows limits to be raised to. */
export function ceilingsOf({ managedLimits = {} }: Pick<Settings, 'managedLimits'>): LimitsChange {
  return Object.fromEntries(
    limitFieldNames.flatMap((name) => {
      const most = managedLimits[name] ?? null
      return most === null ? [] : [[inSession[name], most] as const]
    }),
  )
}

/** The session in which nobody sets a limit beyond those of an administrator: that is a ConfigurationError, and nothing is set. */
export function heldToManaged(session: Session, { managedLimits = {} }: Pick<Settings, 'managedLimits'>): Session {
  if (Object.keys(managedLimits).length === 0) return session
  const set = session.set.bind(session)
  return Object.assign(session, {
    // `resume` sets its limits by this, too.
    set(change: SettingsChange): void {
      for (const name of limitFieldNames) {
        const [most, wanted] = [managedLimits[name] ?? Infinity, change.limits?.[inSession[name]]]
        if (wanted !== undefined && (wanted ?? Infinity) > most)
          throw new ConfigurationError(
            `limits.${name} is limited to ${most} by an administrator's settings (see halting config). Nothing was set.`,
          )
      }
      set(change)
    },
  })
}

interface SaidNow {
  readonly choices: SessionChoices
  readonly limitSources?: LimitSources | undefined
  readonly settings: Pick<Settings, 'managedLimits'>
}

interface LeftOpen {
  /** Records of a run that an earlier process left. */
  readonly open: readonly StepRecord[]
  /** Choices are those of whoever resumes, and not of whoever once opened a session that is kept elsewhere. */
  readonly areChoicesNew: boolean
}

// Spec R-LIM-4b.
/**
 * The session whose run of an earlier process goes on within what is said now: a limit that was set then gives way to one that was typed since, and to an
 * administrator's. What else was set in it holds.
 */
export function resumedWithin(
  session: Session,
  { choices, limitSources = {}, settings: { managedLimits = {} } }: SaidNow,
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
    // What a person sets meanwhile is newer than both.
    set(change: SettingsChange): void {
      set(change)
      for (const name of Object.keys(change.limits ?? {})) due.delete(name as keyof LimitsChange)
    },
    // That run is closed by it.
    prompt(...given: Parameters<Session['prompt']>): string {
      due.clear()
      return prompt(...given)
    },
    resume(limits?: LimitsChange): void {
      if (due.size > 0) set({ limits: Object.fromEntries(due) })
      due.clear()
      resume(limits)
    },
  })
}

/** What was set of limits in a run, as far as its records show. */
function recordedLimits(records: readonly StepRecord[]): LimitsChange {
  const changes = records.flatMap((record) =>
    record.type === 'control' ? (record.control.settings?.limits ?? []) : [],
  )
  return Object.assign({}, beginningOf(records).start.spent.settings?.limits, ...changes) as LimitsChange
}
