import type { ModelStopReason, Usage } from '../model/messages.ts'
import type { GuardCall } from './last-calls.ts'
import type { StopSignal } from '../endings/signal.ts'
import { uniqueNames } from '../values/text.ts'

/** A place where the loop looks at signals. */
export type CancellationPoint = 'before_turn' | 'after_reply' | 'after_tools'

/** What a guard may look at: figures of the run, nothing outside it. */
export interface GuardView {
  /** Where the guard is asked. */
  readonly checkpoint: CancellationPoint
  /** Turns that are done and count against a limit. */
  readonly steps: number
  /** Tokens of the run's own requests. */
  readonly usage: Usage
  /** Input, cached too, and output of all requests, subagents too. */
  readonly totalTokens: number
  /** US dollars, with subagents. */
  readonly costUsd: number
  /** Active milliseconds. */
  readonly activeMs: number
  /** How the last reply ended; null before the first. */
  readonly finishReason: ModelStopReason | null
  /**
   * A hash of calls, inputs and outputs for each of the last turns, oldest first, since the last user input: 8 turns, and up to 40 of those that repeat
   * themselves. Outputs count without numbers, times, hashes and temporary paths. Of a turn in which a tool took 5 seconds or longer it is `-1 - hash`.
   */
  readonly recentTurns: readonly number[]
  /** The calls of the last reply, in their order, with what became of them; empty where it called no tool. */
  readonly lastCalls: readonly GuardCall[]
  /** What the newest turn has repeated, in turns, since the last user input; counted only where a guard `looksAtTurns`. Nothing when absent. */
  readonly repeated?: {
    /** Turns in a row in which all calls of one tool failed that edits files (`Tool.editsFiles`), this one included. */
    readonly failedEdits: number
    /** Turns in which a call failed with the same error as one of this turn, without numbers, times, hashes and temporary paths. */
    readonly equalErrors: number
    /** How often in a row the same answer was sent back. */
    readonly equalAnswers: number
  }
}

/** Bounds that follow from a guard alone; the ledger, the deadline and the certificate use them. */
export interface GuardBounds {
  /** Turns of the run. */
  readonly turns?: number
  /** Input and output tokens of the run. */
  readonly tokens?: number
  /** US dollars of the run. */
  readonly usd?: number
  /** Active milliseconds of the run. */
  readonly ms?: number
}

/** How near a guard is to firing: it fires once `used` has reached `limit`. JSON. */
export type GuardRemaining = {
  /** Name of the guard whose figures these are; of a combinator, the one that decides. */
  readonly guard: string
  /** How much is used, in `unit`. */
  readonly used: number
  /** The value of `used` at which it fires. */
  readonly limit: number
  /** What is counted. A `condition` has no figures of its own: 0 of 1 while it does not hold, 1 of 1 while it does. */
  readonly unit: 'turns' | 'tokens' | 'usd' | 'ms' | 'repeats' | 'condition'
}

/**
 * What the model is reminded of. `same_turns`: it makes the same calls with the same results. The others never stop a run: `failing_edits`, a tool fails again
 * and again that would change something; `equal_errors`, calls fail with the same error; `equal_answers`, an answer that was sent back is given again.
 * A run has one reminder of `same_turns`, and one of the others.
 */
export type Reminder = 'same_turns' | 'failing_edits' | 'equal_errors' | 'equal_answers'

/**
 * A stop condition. It is pure, so it needs no record, and a replay asks it again.
 * Guards use `>=`. One that throws ends the run as `error`.
 */
export interface Guard {
  /** For messages and signals. Guards of a run may share one. */
  readonly name: string
  /** Where it is asked; before a turn and after the tools when absent. */
  readonly checkpoints?: readonly CancellationPoint[]
  /** Limits that follow from this guard; absent for none. */
  readonly bounds?: GuardBounds
  /** It needs `recentTurns`, which are hashed only when some guard does. */
  readonly looksAtTurns?: boolean
  /** The signal to stop with; nothing to continue. */
  evaluate(view: GuardView): StopSignal | null | undefined
  // Spec R-PROG-4.
  /**
   * What the model is to be reminded of before this guard stops the run, or in its place: asked after the tools, where the run goes on and a turn is left, and
   * at an answer that is sent back. Of these it is reminded of the first that it was not yet reminded of in this run.
   */
  reminds?(view: GuardView): readonly Reminder[]
  /** How near it is to firing, for people to see: pure, and nothing is decided by it. Undefined where it cannot say. */
  remaining?(view: GuardView): GuardRemaining | undefined
}

export const defaultCheckpoints: readonly CancellationPoint[] = Object.freeze<CancellationPoint[]>([
  'before_turn',
  'after_tools',
])

export function isGuard(value: object): value is Guard {
  return 'evaluate' in value && typeof value.evaluate === 'function'
}

/** What `remaining` says of a limit; nothing of one that is never reached. */
export function figures(
  guard: string,
  used: number,
  limit: number,
  unit: GuardRemaining['unit'],
): GuardRemaining | undefined {
  return limit === Infinity ? undefined : { guard, used, limit, unit }
}

/** What `remaining` says where there is nothing to count. */
export function conditionFigures(guard: string, holds: boolean): GuardRemaining {
  return { guard, used: holds ? 1 : 0, limit: 1, unit: 'condition' }
}

// Spec R-DEC-7.
/** A guard of a run, with an id of its own. An override is remembered by the id, over a resume too. */
export interface RegisteredGuard {
  readonly id: string
  readonly guard: Guard
}

const none: readonly never[] = Object.freeze([])

/** The guards of a run in their order. Their ids are no names of the run's own limits (`run/pending-endings.ts`). */
export function registerGuards(guards: readonly Guard[]): readonly RegisteredGuard[] {
  if (guards.length === 0) return none
  const ids = uniqueNames(guards.map(({ name }) => `guard:${name}`))
  return guards.map((guard, index) => ({ id: ids[index] ?? guard.name, guard }))
}
