import type { EndingReason } from './ending.ts'
import type { HaltingError } from '../values/errors.ts'
import type { GoalResult } from '../verification/goal-record.ts'
import type { Usage } from '../model/messages.ts'
import type { StopCategory } from './reason.ts'
import type { StopSignal } from './signal.ts'
import type { StopSignals } from './signals.ts'
import type { Verified } from '../verification/progress.ts'

const endingByCategory = {
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

/** The source of a signal, if the ending depends on it. */
export type SignalOrigin = 'guard' | 'hook' | 'tool' | 'post_tool_hook'

// Spec R-STOP-6.
/** The ending for a signal that a guard, hook or tool raised. */
export function endingReasonOf(signal: StopSignal, origin: SignalOrigin = 'guard'): EndingReason {
  if (signal.reason === 'stop_requested') {
    if (origin === 'post_tool_hook') return 'hook_stopped'
  }
  return endingByCategory[signal.reason]
}

// Spec R-END-7.
/** The figures of a run. */
export interface RunSummary {
  /** Messages of the model. */
  readonly assistantMessages: number
  /** Results of tool calls. */
  readonly toolResults: number
  /** Turns as displayed to people, including those that a stop hook or the token target added. */
  readonly turns: number
  // Spec R-LAP-9.
  /** Attempts that reached the model. */
  readonly requests: number
  /** Usage of the run's own requests; that of subagents is in `modelUsage`. */
  readonly usage: Usage
  /** Figures by exact model id, including subagents and compaction. */
  readonly modelUsage: { readonly [model: string]: ModelFigures }
  /** Whether the conversation was compacted in this run. */
  readonly compacted: boolean
  /** Total milliseconds of requests. */
  readonly apiMs: number
}

/** The figures of one model in a run: its usage, and its cost in US dollars. */
export type ModelFigures = {
  /** Tokens of this model. */
  readonly usage: Usage
  /** Settled cost in US dollars. */
  readonly costUsd: number
}

/** How a run ended, with its figures. The return value, the last event, the session and the result line contain the same record. */
export interface RunResult {
  /** Where the run ended. */
  readonly reason: EndingReason
  /** Why it ended: category, message with figures, context, source. */
  readonly signal: StopSignal
  /** All signals that were raised at the end; overridden ones are in the iteration records. */
  readonly signals: StopSignals
  /** Figures of the run. */
  readonly summary: RunSummary
  /** Settled cost in US dollars. */
  readonly costUsd: number
  /** Settled cost plus the worst case of unknown or aborted attempts, in US dollars. */
  readonly committedUsd: number
  /** Input tokens (including cached ones) and output tokens, which count against a token limit. Includes the worst case of unknown or aborted attempts. */
  readonly totalTokens: number
  // Spec R-STEP-9.
  /** Active milliseconds, over all resumes, without the time spent waiting for a person. */
  readonly durationMs: number
  /** Ids of tool calls that were abandoned because they did not react to an abort. */
  readonly stillRunning: readonly string[]
  /** When the service accepts requests again, in ISO 8601 in UTC. Set if the service ended the run by refusing requests and reported that time. */
  readonly retryAt?: string
  /** The state of its goals; absent for a run without goals. */
  readonly goal?: GoalResult
  // Spec R-VERI-6.
  /** Whether a check passed after the last change of the run, according to its tools; absent if verification is off (`RunOptions.verification`). */
  readonly verified?: Verified
  /** The failure that ended the run; absent for none. */
  readonly error?: HaltingError
}
