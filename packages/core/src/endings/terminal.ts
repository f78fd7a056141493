import type { EndingReason } from './ending.ts'
import type { HaltingError } from '../values/errors.ts'
import type { GoalResult } from '../verification/goal-record.ts'
import type { Usage } from '../model/messages.ts'
import type { StopCategory } from './reason.ts'
import type { StopSignal } from './signal.ts'
import type { StopSignals } from './signals.ts'
import type { Verified } from '../verification/progress.ts'

const terminalOfReason = {
  error: 'error',
  stop_requested: 'stop_requested',
  user_requested: 'user_requested',
  steps_limit: 'max_turns',
  token_limit: 'token_limit',
  cost_limit: 'max_budget_usd',
  time_limit: 'time_limit',
  retry_limit: 'model_error',
  no_progress: 'no_progress',
  finish_reason: 'finish_reason',
  completed: 'completed',
  unknown: 'error',
} as const satisfies Record<StopCategory, EndingReason>

/** Who raised a signal, where that decides the terminal. */
export type SignalOrigin = 'guard' | 'hook' | 'tool' | 'post_tool_hook'

// Spec R-STOP-6.
/** Where a signal that a guard, hook or tool raised ends the run. */
export function terminalOf(signal: StopSignal, origin: SignalOrigin = 'guard'): EndingReason {
  if (signal.reason === 'stop_requested') {
    if (origin === 'post_tool_hook') return 'hook_stopped'
  }
  return terminalOfReason[signal.reason]
}

// Spec R-END-7.
/** What a run did, in figures. */
export interface RunSummary {
  /** Messages of the model. */
  readonly assistantMessages: number
  /** Results of tool calls. */
  readonly toolResults: number
  /** Turns, for people: with those that a stop hook or the token target added. */
  readonly turns: number
  // Spec R-LAP-9.
  /** Attempts that reached the model. */
  readonly requests: number
  /** The run's own requests; those of subagents are in `modelUsage`. */
  readonly usage: Usage
  /** By exact model id, with subagents and compaction. */
  readonly modelUsage: { readonly [model: string]: ModelFigures }
  /** Whether the conversation was compacted in this run. */
  readonly compacted: boolean
  /** Milliseconds that requests took. */
  readonly apiMs: number
}

/** What one model came to in a run: its usage, and its cost in US dollars. */
export type ModelFigures = {
  /** Tokens of this model. */
  readonly usage: Usage
  /** US dollars, settled. */
  readonly costUsd: number
}

/** How a run ended, with the figures behind it: the same record in the return value, the last event, the session and the result line. */
export interface RunResult {
  /** Where the run ended. */
  readonly reason: EndingReason
  /** Why: category, message with figures, context, source. */
  readonly signal: StopSignal
  /** All signals that stood at the end; overridden ones are in the lap records. */
  readonly signals: StopSignals
  /** Figures of the run. */
  readonly summary: RunSummary
  /** Settled, in US dollars. */
  readonly costUsd: number
  /** Settled plus what unknown or aborted attempts may have cost, in US dollars. */
  readonly committedUsd: number
  /** What a limit on tokens counts: input (cached too) and output, with what unknown or aborted attempts may have come to. */
  readonly totalTokens: number
  // Spec R-STEP-9.
  /** Active milliseconds, over all resumes, without the time that a person was waited for. */
  readonly durationMs: number
  /** Ids of tool calls that were left behind because they did not react to an abort. */
  readonly stillRunning: readonly string[]
  /** When the service takes requests again, where the run ended because it does not now and it said so: ISO 8601 in UTC. */
  readonly retryAt?: string
  /** How its goals stand; absent for a run without any. */
  readonly goal?: GoalResult
  // Spec R-VERI-6.
  /** Whether a check passed after the last change of the run, as far as its tools can tell; absent where nobody looks (`RunOptions.verification`). */
  readonly verified?: Verified
  /** What failed, where the run ended because of a failure. */
  readonly error?: HaltingError
}
