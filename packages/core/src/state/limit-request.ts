import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf, isNumber, throwInvalidOption } from '../values/validators.ts'
import { maxGoalTriesAllowed } from '../limits/transition-rules.ts'
import type { LimitsChange } from './settings-change.ts'

/** A limit that a person may raise while a run pauses at it, by its name in `LimitsChange`. */
export type RaisableLimit = keyof LimitsChange

/** How values of a limit are offered and accepted. `count`: only integers; `whole`: rounded to integers; `usd`: rounded to cents. */
export const limitKinds: { readonly [limit in RaisableLimit]: 'count' | 'whole' | 'usd' } = {
  maxTurns: 'count',
  maxBudgetUsd: 'usd',
  maxRunUsd: 'usd',
  maxTotalTokens: 'whole',
  maxDurationMs: 'whole',
  maxToolCalls: 'count',
  maxGoalTries: 'count',
}

/** Whether this is the name of a limit that may be raised. */
export function isRaisableLimit(name: unknown): name is RaisableLimit {
  return typeof name === 'string' && Object.hasOwn(limitKinds, name)
}

/** A value that a limit may be raised to, as it is offered: half as much again, or double. */
export type LimitOffer = {
  /** The value, in the unit of the limit. */
  readonly to: number
}

// Spec R-PAUSE-1.
/** The request of a run that pauses at a limit and asks whether to raise it. JSON. */
export type LimitRequest = {
  /** For `RunStream.answerLimit`. */
  readonly id: string
  /** The limit. */
  readonly limit: RaisableLimit
  /** How much of it is used, in the unit of the limit: turns, calls, tokens, tries, US dollars or active milliseconds. */
  readonly used: number
  /** The limit that is reached. */
  readonly of: number
  /** The lowest limit that permits the next request, if it is more than `used`. */
  readonly needed?: number
  /** The highest permitted value, set by a guard or an administrator; null for no ceiling. */
  readonly most: number | null
  /** Values to offer, the lowest first; never empty. */
  readonly offers: readonly LimitOffer[]
  /** The message of the ending that follows without an answer. */
  readonly message: string
  /** When the run began to pause, in milliseconds since 1970. */
  readonly sinceMs: number
  /** Until when the run waits for an answer, in milliseconds since 1970; null for no timeout. */
  readonly untilMs: number | null
}

/** The answer to a `LimitRequest`: the limit is raised (null: removed), or the run ends at the limit. */
export type LimitAnswer =
  | {
      /** The limits to raise, with their new values. */
      readonly raise: LimitsChange
      /** Not allowed in an answer that raises limits. */
      readonly end?: never
    }
  | {
      readonly end: true
      /** Not allowed in an answer that ends the run. */
      readonly raise?: never
    }

/**
 * Asks a person about a limit. `signal` aborts when the answer is no longer needed. After an invalid answer it is called
 * again with the `problem`, at most three times. If it rejects, the run ends at the limit.
 */
export type AskLimit = (
  request: LimitRequest,
  options: {
    /** Aborted when the answer is no longer needed. */
    readonly signal: AbortSignal
    /** Why the previous answer was not accepted; absent the first time. */
    readonly problem?: string
  },
) => Promise<LimitAnswer>

/** The state of a limit, and the highest value that it may be raised to. */
export type LimitFigures = Pick<LimitRequest, 'limit' | 'used' | 'of' | 'needed' | 'most'>

/** Whether a limit is raised far enough to continue. A run may end before a limit is fully used, for example when a reply was truncated. */
export function isRaised({ used, of, needed = 0 }: Pick<LimitRequest, 'used' | 'of' | 'needed'>, to: number): boolean {
  return to > Math.max(used, of) && to >= needed
}

/**
 * The values to offer: half as much again, and double, if they are sufficient and permitted; otherwise the needed or the
 * permitted value. Empty if the limit cannot be raised far enough.
 */
export function offersFor(figures: LimitFigures, within: number = Infinity): readonly LimitOffer[] {
  const { limit, of, needed = 0, most } = figures
  const isEnough = (to: number): boolean => isRaised(figures, to) && to <= (most ?? Infinity)
  const double = rounded(limit, Math.max(of, needed) * 2)
  const standardValues = [rounded(limit, of * 1.5), rounded(limit, of * 2), double].filter(isEnough)
  const withinBudget = standardValues.filter((to) => to <= within)
  const found = withinBudget.length > 0 ? withinBudget : standardValues
  const all = found.length > 0 ? found : [rounded(limit, needed), most ?? 0].filter(isEnough)
  return [...new Set(all)]
    .toSorted((first, other) => first - other)
    .slice(0, 2)
    .map((to) => ({ to }))
}

/** Rounds up to integers, and dollars to cents. */
function rounded(limit: RaisableLimit, value: number): number {
  const up = limitKinds[limit] === 'usd' ? Math.ceil(value * 100 - 1e-6) / 100 : Math.ceil(value)
  return limit === 'maxGoalTries' ? Math.min(up, maxGoalTriesAllowed) : up
}

/** The validated answer: JSON, with the requested limit only. @throws ConfigurationError for an invalid answer to this request, which stays open. */
export function checkedLimitAnswer(request: LimitFigures, value: unknown): LimitAnswer {
  const fields =
    fieldsOf(value) ?? throwInvalidOption('The answer at a limit', '{ raise: { … } } or { end: true }', value)
  if (fields['end'] === true && fields['raise'] === undefined) return { end: true }
  if (fields['end'] !== undefined && fields['end'] !== false && fields['raise'] !== undefined)
    throw new ConfigurationError('The answer at a limit raises it or ends the run, not both.')
  const { limit } = request
  const raise =
    fieldsOf(fields['raise']) ?? throwInvalidOption('raise', `an object such as { ${limit}: … }`, fields['raise'])
  const other = Object.keys(raise).find((name) => name !== limit)
  if (other !== undefined)
    throw new ConfigurationError(`The run pauses at ${limit}; raising ${other} does not help. Raise ${limit}.`)
  const to = raise[limit]
  if (to === undefined) throw new ConfigurationError(`The run pauses at ${limit}. Raise it, or answer { end: true }.`)
  return { raise: { [limit]: validatedLimit(request, to) } }
}

/** @throws ConfigurationError for a limit that would end the run again, or is not permitted. */
function validatedLimit({ limit, used, of, needed = 0, most }: LimitFigures, to: unknown): number | null {
  if (to === null || to === Infinity) {
    if (limit === 'maxGoalTries') throw new ConfigurationError(`maxGoalTries is at most ${maxGoalTriesAllowed}.`)
    if (most !== null) throw new ConfigurationError(`${limit} is at most ${most} here.`)
    return null
  }
  isNumber(limit, to)
  // Validated above.
  const value = to as number
  const least = Math.max(used, of)
  if (!(value > least)) {
    const why = used < of ? 'as it was' : 'which is used'
    throw new ConfigurationError(`${limit} must be above ${least}, ${why}, but it is ${value}.`)
  }
  if (value < needed)
    throw new ConfigurationError(`${limit} must be at least ${needed} for the next request, but it is ${value}.`)
  if (limitKinds[limit] === 'count' && !Number.isInteger(value))
    throw new ConfigurationError(`${limit} must be a whole number, but it is ${value}.`)
  if (value > (most ?? Infinity)) throw new ConfigurationError(`${limit} is at most ${most} here, but it is ${value}.`)
  return value
}
