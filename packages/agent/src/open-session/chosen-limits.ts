import { ConfigurationError, type LimitsChange, type SettingsChange } from '@halting/core'
import type { Session } from '@halting/core/session'
import { limitFieldNames, type LimitFieldName, type Settings } from '@halting/policy/settings'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'

/** Who said a limit of a session. */
export type LimitSource = 'choice' | 'agent' | 'settings' | 'default'

/** By the name of the limit; absent where nobody says anything. */
export type LimitSources = { readonly [name in LimitFieldName]?: LimitSource }

/** A limit of dollars for runs that nobody limited. */
export interface RunLimitDefault {
  readonly maxRunUsd: number
  /** What it is called, such as `the default of -p`. */
  readonly from: string
}

/** What limits are made of beside choices and settings. */
export interface LimitRules extends Pick<SessionPorts, 'nameOf'> {
  readonly runLimit?: RunLimitDefault | undefined
  /** Choices may raise what the settings say. Those of somebody else, such as who opens a session on a cluster, only lower it. */
  readonly choicesMayRaise: boolean
}

/**
 * The choices with the limits of the settings where choices say nothing, and who said each (spec R-LIM-4). Choices go before the person's own settings and
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
      warnings.push(
        `${nameOf(name)} does not count: the settings limit it to ${ceiling}, which it may not exceed; halting config tells which.`,
      )
    const value = set === null ? Infinity : (set ?? (name === 'maxRunUsd' ? runLimit?.maxRunUsd : undefined))
    if (value === undefined) continue
    limitSources[name] = set === undefined ? 'default' : 'settings'
    chosen[name] = value
  }
  return { choices: { ...choices, ...chosen }, limitSources }
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
            `limits.${name} is at most ${most} by an administrator's settings; halting config tells which. Nothing was set.`,
          )
      }
      set(change)
    },
  })
}
