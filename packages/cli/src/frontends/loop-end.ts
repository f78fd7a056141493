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
  /** Its last round ended in a way that the next one would, too. */
  | 'round'
  /** Several rounds in a row ended the same way. */
  | 'repeated'

/** How a loop ended. */
export interface LoopEnd {
  readonly because: LoopEndReason
  readonly exitCode: number
  /** One sentence for people. */
  readonly message: string
}

/** One round: a run of the loop's prompt that has ended. */
export interface LoopRound {
  /** From 1 on. */
  readonly round: number
  readonly reason: RunResult['reason']
  readonly costUsd: number
  readonly turns: number
  /** Active milliseconds. */
  readonly durationMs: number
  /** Milliseconds since 1970; null where that is not on record. */
  readonly startedAtMs: number | null
  /** What the goals came to; absent for a run without goals. */
  readonly goalMet?: boolean | 'unknown'
  /** Where it ended since its service takes no requests, or a standing budget is used up: until when, in milliseconds since 1970. */
  readonly retryAtMs?: number
  /** By what it is the same failure as another; absent for one that does not count as a failure. */
  readonly failure?: string
}

/** So many rounds in a row that end as the same failure end the loop. */
const mostSameFailures = 3

/** Failures of a model that no later round repairs by itself: somebody has to change a key, an account or the name of the model. */
const lastingErrors = new Set(['authentication_failed', 'billing_error', 'invalid_request', 'model_not_found'])

/** A run of the loop's prompt as a round. */
export function roundOf(round: number, startedAtMs: number | null, terminal: RunResult): LoopRound {
  const { reason, costUsd, durationMs, summary, goal, retryAt } = terminal
  // A standing budget resets; until then it refuses each request.
  const retryAtMs = Date.parse(retryAt ?? sharedBudgetOf(terminal.signal)?.resetsAt ?? '')
  // One that asked nothing and came to nothing would be repeated as fast as the loop goes.
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

/** Whether a loop ends with this round, whatever its bounds leave; undefined where the next one may begin (spec R-EVERY-5). */
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
  if (same < mostSameFailures) return undefined
  return {
    because: 'repeated',
    exitCode: exitCode === 0 ? 1 : exitCode,
    message: `${many(same, 'round')} in a row ended the same way: ${last?.failure}`,
  }
}

/** The end of a loop whose rounds or time are used up. A goal that was not met, or a last round that did not succeed, is no success (spec R-EVERY-6). */
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

/** How many of the last rounds ended as the same failure. */
function sameAtEnd(rounds: readonly LoopRound[]): number {
  const failure = rounds.at(-1)?.failure
  const other = rounds.findLastIndex((round) => round.failure !== failure)
  return rounds.length - 1 - other
}
