import type { HaltingError } from '../errors.ts'
import type { Usage } from '../messages.ts'
import type { StopReason } from './reason.ts'
import type { StopSignal } from './signal.ts'
import type { StopSignals } from './signals.ts'

/** Where a run ended (spec R-END-1): a closed set. */
export type TerminalReason =
  | 'completed'
  | 'finish_reason'
  | 'stop_requested'
  | 'max_turns'
  | 'max_budget_usd'
  | 'token_limit'
  | 'max_output_tokens'
  | 'time_limit'
  | 'no_progress'
  | 'compaction_thrash'
  | 'blocking_limit'
  | 'structured_output_retry_exhausted'
  | 'hook_stopped'
  | 'stop_hook_prevented'
  | 'needs_approval'
  | 'user_requested'
  | 'aborted_streaming'
  | 'aborted_tools'
  | 'abandoned'
  | 'prompt_too_long'
  | 'model_error'
  | 'refusal'
  | 'image_error'
  | 'error'

/** `subtype` of the result message (spec R-SDK-11). */
export type ResultSubtype =
  | 'success'
  | 'error_during_execution'
  | 'error_max_turns'
  | 'error_max_budget_usd'
  | 'error_max_structured_output_retries'

/** One row of the table: everything about an ending that does not depend on the run. */
export interface Ending {
  readonly category: StopReason
  /** graceful: at a checkpoint; immediate: what is in flight is aborted or has failed; preemptive: before a request is made. */
  readonly manner: 'graceful' | 'immediate' | 'preemptive'
  /** Which results the calls of the last message have (spec R-END-4). */
  readonly toolResults: 'all' | 'partial' | 'synthetic' | 'none'
  readonly subtype: ResultSubtype
  /** Exit code of the terminal program; null where nobody is left to read it. */
  readonly exitCode: number | null
  /** Whether a hook may ask to go on although the run would end (spec R-DEC-2). */
  readonly overridable: boolean
  /** Whether `wrapUp` asks for a last answer here (spec R-DEC-6). */
  readonly wrapsUp: boolean
}

const limit = { subtype: 'error_during_execution', exitCode: 3, wrapsUp: true } as const
const failure = { subtype: 'error_during_execution', exitCode: 1, wrapsUp: false } as const
const abort = { category: 'user_requested', manner: 'immediate', overridable: false, wrapsUp: false } as const

/** The table of endings. Adding a `TerminalReason` without its row does not compile. */
export const endings: { readonly [reason in TerminalReason]: Ending } = {
  completed: {
    category: 'completed',
    manner: 'graceful',
    toolResults: 'all',
    subtype: 'success',
    exitCode: 0,
    overridable: true,
    wrapsUp: false,
  },
  finish_reason: {
    category: 'finish_reason',
    manner: 'graceful',
    toolResults: 'all',
    subtype: 'success',
    exitCode: 0,
    overridable: true,
    wrapsUp: false,
  },
  stop_requested: {
    category: 'stop_requested',
    manner: 'graceful',
    toolResults: 'all',
    subtype: 'success',
    exitCode: 0,
    overridable: true,
    wrapsUp: false,
  },
  max_turns: {
    ...limit,
    category: 'steps_limit',
    manner: 'graceful',
    toolResults: 'all',
    subtype: 'error_max_turns',
    overridable: true,
  },
  max_budget_usd: {
    ...limit,
    category: 'cost_limit',
    manner: 'immediate',
    toolResults: 'partial',
    subtype: 'error_max_budget_usd',
    overridable: false,
  },
  token_limit: { ...limit, category: 'token_limit', manner: 'graceful', toolResults: 'all', overridable: true },
  max_output_tokens: {
    ...limit,
    category: 'token_limit',
    manner: 'graceful',
    toolResults: 'none',
    overridable: true,
    wrapsUp: false,
  },
  time_limit: {
    ...limit,
    category: 'time_limit',
    manner: 'immediate',
    toolResults: 'partial',
    overridable: true,
    wrapsUp: false,
  },
  no_progress: { ...limit, category: 'no_progress', manner: 'graceful', toolResults: 'all', overridable: true },
  compaction_thrash: {
    ...limit,
    category: 'no_progress',
    manner: 'preemptive',
    toolResults: 'none',
    overridable: false,
    wrapsUp: false,
  },
  blocking_limit: {
    ...limit,
    category: 'token_limit',
    manner: 'preemptive',
    toolResults: 'none',
    overridable: false,
    wrapsUp: false,
  },
  structured_output_retry_exhausted: {
    category: 'retry_limit',
    manner: 'graceful',
    toolResults: 'all',
    subtype: 'error_max_structured_output_retries',
    exitCode: 3,
    overridable: true,
    wrapsUp: false,
  },
  hook_stopped: {
    category: 'stop_requested',
    manner: 'graceful',
    toolResults: 'all',
    subtype: 'success',
    exitCode: 4,
    overridable: true,
    wrapsUp: false,
  },
  stop_hook_prevented: {
    category: 'stop_requested',
    manner: 'graceful',
    toolResults: 'all',
    subtype: 'success',
    exitCode: 4,
    overridable: true,
    wrapsUp: false,
  },
  needs_approval: {
    category: 'stop_requested',
    manner: 'graceful',
    toolResults: 'partial',
    subtype: 'error_during_execution',
    exitCode: 5,
    overridable: false,
    wrapsUp: false,
  },
  user_requested: {
    category: 'user_requested',
    manner: 'graceful',
    toolResults: 'all',
    subtype: 'error_during_execution',
    exitCode: 130,
    overridable: false,
    wrapsUp: false,
  },
  aborted_streaming: { ...abort, toolResults: 'synthetic', subtype: 'error_during_execution', exitCode: 130 },
  aborted_tools: { ...abort, toolResults: 'partial', subtype: 'error_during_execution', exitCode: 130 },
  abandoned: { ...abort, toolResults: 'synthetic', subtype: 'error_during_execution', exitCode: null },
  prompt_too_long: { ...failure, category: 'error', manner: 'immediate', toolResults: 'none', overridable: false },
  model_error: { ...failure, category: 'error', manner: 'immediate', toolResults: 'synthetic', overridable: false },
  refusal: { ...failure, category: 'error', manner: 'graceful', toolResults: 'all', overridable: false },
  image_error: { ...failure, category: 'error', manner: 'immediate', toolResults: 'none', overridable: false },
  error: { ...failure, category: 'error', manner: 'immediate', toolResults: 'synthetic', overridable: false },
}

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
} as const satisfies Record<StopReason, TerminalReason>

/** Who raised a signal, where that decides the terminal. */
export type SignalOrigin = 'guard' | 'hook' | 'tool' | 'post_tool_hook'

/** Where a signal that a guard, hook or tool raised ends the run (spec R-STOP-6). */
export function terminalOf(signal: StopSignal, origin: SignalOrigin = 'guard'): TerminalReason {
  if (signal.reason === 'stop_requested') {
    if (origin === 'post_tool_hook') return 'hook_stopped'
  }
  return terminalOfReason[signal.reason]
}

/** What a run did, in figures (spec R-END-7). */
export interface RunSummary {
  readonly assistantMessages: number
  readonly toolResults: number
  /** Turns, for people: with those that a stop hook or the token target added. */
  readonly turns: number
  /** Attempts that reached the model (spec R-LAP-9). */
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
export type ModelFigures = { readonly usage: Usage; readonly costUsd: number }

/** How a run ended, with the figures behind it: the same record in the return value, the last event, the session and the result line. */
export interface Terminal {
  /** Where the run ended. */
  readonly reason: TerminalReason
  /** Why: category, message with figures, context, source. */
  readonly signal: StopSignal
  /** All signals that stood at the end; overridden ones are in the lap records. */
  readonly signals: StopSignals
  readonly summary: RunSummary
  /** Settled, in US dollars. */
  readonly costUsd: number
  /** Settled plus what unknown or aborted attempts may have cost, in US dollars. */
  readonly committedUsd: number
  /** What a limit on tokens counts: input (cached too) and output, with what unknown or aborted attempts may have come to. */
  readonly totalTokens: number
  /** Active milliseconds, over all resumes, without the time that a person was waited for (spec R-STEP-9). */
  readonly durationMs: number
  /** Ids of tool calls that were left behind because they did not react to an abort. */
  readonly stillRunning: readonly string[]
  readonly error?: HaltingError
}
