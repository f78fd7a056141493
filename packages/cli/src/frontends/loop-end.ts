import { endings, type RunResult } from '@halting/core'
import { limitOfResult, sharedBudgetOf } from '@halting/core/adapters'
import { isUnusableGoal } from '../headless/goal-text.ts'
import { many } from '../io/figures.ts'

/** Why a loop ended. */
type LoopEndReason =
  | 'goal_met'
  | 'rounds'
  | 'time'
  | 'budget'
  | 'interrupted'
  /** The last round ended in a way that would repeat in further rounds. */
  | 'round'
  /** Several rounds in a row failed the same way. */
  | 'repeated'

/** How a loop ended. */
export interface LoopEnd {
  readonly because: LoopEndReason
  readonly exitCode: number
  /** One sentence for people. */
  readonly message: string
}

/** One finished round: a run of the loop's prompt. */
export interface LoopRound {
  /** Starts at 1. */
  readonly round: number
  readonly reason: RunResult['reason']
  readonly costUsd: number
  readonly turns: number
  /** Active milliseconds. */
  readonly durationMs: number
  /** Milliseconds since 1970; null if not recorded. */
  readonly startedAtMs: number | null
  /** Whether the goals are met; absent for a run without goals. */
  readonly goalMet?: boolean | 'unknown'
  /** When requests are possible again, if the service refuses them or a standing budget is used up. Milliseconds since 1970. */
  readonly retryAtMs?: number
  /** Identifies the kind of failure; absent if the round did not fail. */
  readonly failure?: string
}

/** The loop ends after this many identical failures in a row. */
const maxSameFailures = 3

/** Model errors that a later round cannot fix: somebody has to change a key, an account or the model name. */
const lastingErrors = new Set(['authentication_failed', 'billing_error', 'invalid_request', 'model_not_found'])

/** The record of a finished round. */
export function roundOf(round: number, startedAtMs: number | null, terminal: RunResult): LoopRound {
  const { reason, costUsd, durationMs, summary, goal, retryAt } = terminal
  // A standing budget refuses requests until its next reset.
  const retryAtMs = Date.parse(retryAt ?? sharedBudgetOf(terminal.signal)?.resetsAt ?? '')
  // A round that made no request and met no goal would repeat without a pause.
  const isFailure = endings[reason].nextRound === 'unless_repeated' || (summary.requests === 0 && goal?.met !== true)
  return {
    round,
    reason,
    costUsd,
    turns: summary.turns,
    durationMs,
    startedAtMs,
    ...(goal !== undefined && { goalMet: goal.met }),
    ...(Number.isFinite(retryAtMs) && { retryAtMs }),
    ...(isFailure && { failure: [reason, errorKindOf(terminal) ?? ''].join(' ').trim() }),
  }
}

/** The end of the loop if it must end after this round regardless of its bounds; undefined if the next round may start (spec R-EVERY-5). */
export function endAfterRound(
  terminal: RunResult,
  rounds: readonly LoopRound[],
  exitCode: number,
): LoopEnd | undefined {
  const { reason } = terminal
  const { category, sentence, nextRound, exitCode: code } = endings[reason]
  if (category === 'user_requested') return { because: 'interrupted', exitCode, message: `Stopped: ${sentence}` }
  const last = rounds.at(-1)
  if (last?.goalMet === true && code === 0) return { because: 'goal_met', exitCode: 0, message: goalMetText(terminal) }
  if (nextRound === 'never' || isLasting(terminal))
    return { because: 'round', exitCode, message: `No further round: ${sentence} (${reason})` }
  if (limitOfResult(terminal) === 'maxBudgetUsd')
    return { because: 'budget', exitCode, message: 'The budget of the session is used up' }
  const same = last?.failure === undefined ? 0 : sameAtEnd(rounds)
  if (same < maxSameFailures) return undefined
  return {
    because: 'repeated',
    exitCode: exitCode === 0 ? 1 : exitCode,
    message: `${many(same, 'round')} in a row ended the same way: ${last?.failure}`,
  }
}

/** The end of a loop at a bound. It is a failure if the goal is not met, or if the last round failed (spec R-EVERY-6). */
export function endAtBound(
  because: 'rounds' | 'time',
  message: string,
  { hasGoal, last }: { readonly hasGoal: boolean; readonly last: LoopRound | undefined },
): LoopEnd {
  if (hasGoal && last?.goalMet !== true)
    return { because, exitCode: endings.goal_unmet.exitCode ?? 1, message: `${message}, but the goal is not met` }
  return { because, exitCode: last === undefined ? 0 : (endings[last.reason].exitCode ?? 1), message }
}

function goalMetText({ summary }: RunResult): string {
  return summary.requests === 0 ? 'The goal was already met; no request was made' : 'The goal is met'
}

function isLasting(terminal: RunResult): boolean {
  const kind = terminal.reason === 'model_error' ? errorKindOf(terminal) : undefined
  return isUnusableGoal(terminal) || (kind !== undefined && lastingErrors.has(kind))
}

function errorKindOf({ signal }: RunResult): string | undefined {
  const { kind } = signal.context
  return typeof kind === 'string' ? kind : undefined
}

/** The number of last rounds in a row with the same failure. */
function sameAtEnd(rounds: readonly LoopRound[]): number {
  const failure = rounds.at(-1)?.failure
  const other = rounds.findLastIndex((round) => round.failure !== failure)
  return rounds.length - 1 - other
}
