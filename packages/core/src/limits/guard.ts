import type { ModelStopReason, Usage } from '../model/messages.ts'
import type { GuardCall } from './last-calls.ts'
import type { StopSignal } from '../endings/signal.ts'
import { uniqueNames } from '../values/text.ts'

/** A point in the loop at which guards and signals are evaluated. */
export type CancellationPoint = 'before_turn' | 'after_reply' | 'after_tools'

/** The figures of the run that a guard can read. A guard can read nothing else. */
export interface GuardView {
  /** The point at which the guard is called. */
  readonly checkpoint: CancellationPoint
  /** Completed turns that count against a limit. */
  readonly steps: number
  /** Tokens of the run's own requests. */
  readonly usage: Usage
  /** Input (including cached) and output tokens of all requests, including those of subagents. */
  readonly totalTokens: number
  /** US dollars, including subagents. */
  readonly costUsd: number
  /** Active time in milliseconds. */
  readonly activeMs: number
  /** The stop reason of the last reply; null before the first. */
  readonly finishReason: ModelStopReason | null
  /**
   * A hash of calls, inputs and outputs for each of the last turns since the last user input, oldest first. It covers 8
   * turns, and up to 40 if they repeat. Numbers, times, hashes and temporary paths in outputs are ignored. If a tool of
   * the turn ran 5 seconds or longer, the value is `-1 - hash`.
   */
  readonly recentTurns: readonly number[]
  /** The calls of the last reply in their order, with their status; empty if it had none. */
  readonly lastCalls: readonly GuardCall[]
  /**
   * What the newest turn repeats since the last user input, counted in turns. Present only if a guard sets
   * `looksAtTurns`; if absent, there is no repetition.
   */
  readonly repeated?: {
    /** Consecutive turns, including this one, in which all calls of one file-editing tool (`Tool.editsFiles`) failed. */
    readonly failedEdits: number
    /** Turns in which a call failed with the same error as in this turn. Numbers, times, hashes and temporary paths in the error are ignored. */
    readonly equalErrors: number
    /** How often in a row the same answer was sent back. */
    readonly equalAnswers: number
  }
}

/** Bounds that follow from a guard alone. The ledger, the deadline and the certificate use them. */
export interface GuardBounds {
  /** Maximum turns of the run. */
  readonly turns?: number
  /** Maximum input and output tokens of the run. */
  readonly tokens?: number
  /** Maximum cost of the run in US dollars. */
  readonly usd?: number
  /** Maximum active time in milliseconds. */
  readonly ms?: number
}

/** How near a guard is to firing: it fires once `used` reaches `limit`. JSON. */
export type GuardRemaining = {
  /** Name of the guard that these figures describe; for a combinator, the guard that decides. */
  readonly guard: string
  /** The amount used, in `unit`. */
  readonly used: number
  /** The value of `used` at which the guard fires. */
  readonly limit: number
  /** The unit. A `condition` has no figures of its own: `limit` is 1, and `used` is 0 while it is false and 1 while it is true. */
  readonly unit: 'turns' | 'tokens' | 'usd' | 'ms' | 'repeats' | 'condition'
}

/**
 * What to remind the model of. `same_turns`: it makes the same calls with the same results. The other reminders never
 * stop a run. `failing_edits`: a file-editing tool keeps failing. `equal_errors`: calls fail with the same error.
 * `equal_answers`: the model repeats an answer that was sent back. A run gets at most one `same_turns` reminder and one
 * of the others.
 */
export type Reminder = 'same_turns' | 'failing_edits' | 'equal_errors' | 'equal_answers'

/**
 * A stop condition. It must be pure: it is not recorded, and a replay evaluates it again. Built-in guards compare with
 * `>=`. A guard that throws ends the run as `error`.
 */
export interface Guard {
  /** Used in messages and signals. Several guards of a run may have the same name. */
  readonly name: string
  /** The points at which the guard is called. Default: before a turn and after the tools. */
  readonly checkpoints?: readonly CancellationPoint[]
  /** Limits that follow from this guard; absent if there are none. */
  readonly bounds?: GuardBounds
  /** Whether it needs `recentTurns`. Turns are hashed only if a guard needs them. */
  readonly looksAtTurns?: boolean
  /** Returns the signal to stop with, or nothing to continue. */
  evaluate(view: GuardView): StopSignal | null | undefined
  // Spec R-PROG-4.
  /**
   * Returns reminders for the model, which are sent before or instead of stopping the run. Called after the tools if the
   * run continues and a turn is left, and when an answer is sent back. The run sends the first reminder in the list that
   * it has not sent yet.
   */
  reminds?(view: GuardView): readonly Reminder[]
  /** How near the guard is to firing, for display only. Must be pure. Undefined if unknown. */
  remaining?(view: GuardView): GuardRemaining | undefined
}

export const defaultCheckpoints: readonly CancellationPoint[] = Object.freeze<CancellationPoint[]>([
  'before_turn',
  'after_tools',
])

export function isGuard(value: object): value is Guard {
  return 'evaluate' in value && typeof value.evaluate === 'function'
}

/** The `remaining` figures of a limit; undefined if the limit can never be reached. */
export function figures(
  guard: string,
  used: number,
  limit: number,
  unit: GuardRemaining['unit'],
): GuardRemaining | undefined {
  return limit === Infinity ? undefined : { guard, used, limit, unit }
}

/** The `remaining` figures of a condition that counts nothing. */
export function conditionFigures(guard: string, isTrue: boolean): GuardRemaining {
  return { guard, used: isTrue ? 1 : 0, limit: 1, unit: 'condition' }
}

// Spec R-DEC-7.
/** A guard of a run with a unique id. Overrides are stored under this id, and remain valid after a resume. */
export interface RegisteredGuard {
  readonly id: string
  readonly guard: Guard
}

const noGuards: readonly never[] = Object.freeze([])

/** The guards of a run in their order. Their ids never equal a name of the run's own limits (`run/pending-endings.ts`). */
export function registerGuards(guards: readonly Guard[]): readonly RegisteredGuard[] {
  if (guards.length === 0) return noGuards
  const ids = uniqueNames(guards.map(({ name }) => `guard:${name}`))
  return guards.map((guard, index) => ({ id: ids[index] ?? guard.name, guard }))
}
