import type { StopCategory } from './reason.ts'

// Spec R-END-1.
/** The place where a run ended: a closed set of reasons. */
export type EndingReason =
  | 'completed'
  | 'finish_reason'
  | 'stop_requested'
  | 'max_turns'
  | 'max_tool_calls'
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
  | 'goal_unmet'
  | 'stop_hook_unmet'
  | 'needs_approval'
  | 'user_requested'
  | 'aborted_streaming'
  | 'aborted_tools'
  | 'abandoned'
  | 'prompt_too_long'
  | 'model_error'
  | 'refusal'
  | 'no_answer'
  | 'image_error'
  | 'error'

// Spec R-SDK-11.
/** `subtype` of the result message. */
export type ResultSubtype =
  | 'success'
  | 'error_during_execution'
  | 'error_max_turns'
  | 'error_max_budget_usd'
  | 'error_max_structured_output_retries'

/** The limits that endings report. */
export type EndingLimit =
  | 'maxTurns'
  | 'maxToolCalls'
  | 'maxBudgetUsd'
  | 'maxRunUsd'
  | 'maxTotalTokens'
  | 'maxDurationMs'
  | 'maxGoalTries'
  | 'noProgress'

/** The properties of a limit that frontends need. */
export interface EndingLimitFacts {
  /** The unit of the limit: turns, tool calls, US dollars, tokens, milliseconds, tries of a goal, or repeated turns. */
  readonly unit: 'turns' | 'calls' | 'usd' | 'tokens' | 'ms' | 'tries' | 'repeats'
  /**
   * How the limit is raised before a run continues. `continuing`: continuing grants the same amount again. `person`: a
   * person must set it, since it costs money. Null: the limit has no value that can be raised.
   */
  readonly raisedBy: 'continuing' | 'person' | null
}

/** The properties of each limit. The row of an ending names its limit. */
export const endingLimits: { readonly [limit in EndingLimit]: EndingLimitFacts } = {
  maxTurns: { unit: 'turns', raisedBy: 'continuing' },
  maxToolCalls: { unit: 'calls', raisedBy: 'continuing' },
  maxBudgetUsd: { unit: 'usd', raisedBy: 'person' },
  maxRunUsd: { unit: 'usd', raisedBy: 'person' },
  maxTotalTokens: { unit: 'tokens', raisedBy: 'person' },
  maxDurationMs: { unit: 'ms', raisedBy: 'continuing' },
  maxGoalTries: { unit: 'tries', raisedBy: 'continuing' },
  noProgress: { unit: 'repeats', raisedBy: null },
}

/** Raises the limit of the row and continues with the counters of the run. */
interface RaiseLimit {
  readonly kind: 'raise-limit'
}

/** One action after an ending. Frontends map it to a key, a button or a command. */
export type EndingAction =
  | RaiseLimit
  /** Request a last answer, without tools. */
  | { readonly kind: 'last-answer' }
  /** Continue with this prompt. */
  | {
      readonly kind: 'prompt'
      /** The label of the button or key. */
      readonly label: string
      /** The text of the prompt. */
      readonly text: string
    }
  /** Resume, if the session can be resumed; else continue with a prompt. */
  | { readonly kind: 'retry' }
  | { readonly kind: 'compact' }
  /** Continue with the result of the last goal check, if no limit has to be raised for it. Otherwise `raise-limit` continues. */
  | { readonly kind: 'send-back' }
  /** Choose another model, and continue with it. */
  | { readonly kind: 'another-model' }
  /** Revert the file changes of the run. */
  | { readonly kind: 'undo' }
  /** Approve or deny the pending calls. */
  | { readonly kind: 'approve' }
  /** Show why the run ended. */
  | { readonly kind: 'explain' }

/** Advice as a text, or as its kind if it depends on the limit or on the options of a frontend. */
export type EndingAdvice =
  | string
  | RaiseLimit
  /** Enable compaction. With `otherwise`: this advice applies only if compaction was disabled; otherwise the text is shown. */
  | {
      readonly kind: 'permit-compaction'
      /** The advice if compaction is already enabled; absent: the same advice in both cases. */
      readonly otherwise?: string
    }
  /** Give compaction more space. */
  | { readonly kind: 'more-room' }
  | { readonly kind: 'another-model' }
  /** Inspect the failure, and the rules for which failures end a run. */
  | { readonly kind: 'inspect-failure' }

/** The text after the sentence of an ending. */
export type EndingDetail =
  | { readonly kind: 'none' }
  /** The message of the signal, without this prefix. Omitted if it equals `unless`. */
  | {
      readonly kind: 'message'
      /** A prefix to remove from the message; absent for none. */
      readonly prefix?: string
      /** A message to omit because the sentence already contains it; absent: every message is shown. */
      readonly unless?: string
    }
  /** `used` and `limit` of the signal's context in this unit, and the amount that the next request needs, if the signal has it. */
  | {
      readonly kind: 'figures'
      /** Unit in which the two figures are printed. */
      readonly unit: Exclude<EndingLimitFacts['unit'], 'repeats'>
    }

/** How an ending is presented to a person. The loop does not use it. */
export interface EndingPresentation {
  /**
   * How the ending is announced. `success`: the work is done. `stopped`: a hook, a guard or a tool ended the run.
   * `limited`: a limit ended it. `paused`: the run waits for a person. `interrupted`: a person ended it, or the reader
   * disconnected. `unanswered`: the run ended without an answer. `failed`: a step failed.
   */
  readonly announcement: 'success' | 'stopped' | 'limited' | 'paused' | 'interrupted' | 'unanswered' | 'failed'
  // Spec R-TERM-25.
  /** What happened, without punctuation at the end. */
  readonly sentence: string
  /** The text after the sentence: nothing, the message of the signal, or its figures. */
  readonly detail: EndingDetail
  // Spec R-TEXT-5.
  /** What to do next, by the type of frontend; '' for nothing, or if the actions cover it. */
  readonly advice: {
    /** For programs that run one prompt in each process. */
    readonly command: EndingAdvice
    /** For an editor. */
    readonly editor: string | RaiseLimit
    /** For the interactive program. */
    readonly terminal: string
  }
  // Spec R-TERM-26.
  /** The actions to offer, the most useful first. */
  readonly actions: readonly EndingAction[]
  /** The action for which `halting why` prints a command; null for none. */
  readonly resume: EndingAction | null
  // Spec R-ACP-5.
  /**
   * Stop reason of the Agent Client Protocol. `error`: the response to the prompt is an error. `cancelled`: only if the
   * client cancelled, otherwise `end_turn`.
   */
  readonly acp: 'end_turn' | 'max_turn_requests' | 'max_tokens' | 'refusal' | 'cancelled' | 'error'
}

/** One row of the table: all properties of an ending that do not depend on the run. */
export interface Ending extends EndingPresentation {
  /** The category of the signal that leads to this ending. */
  readonly category: StopCategory
  /** graceful: at a cancellation point; immediate: a step in flight is aborted or has failed; preemptive: before a request is made. */
  readonly manner: 'graceful' | 'immediate' | 'preemptive'
  // Spec R-END-4.
  /** Which results the calls of the last message have. */
  readonly toolResults: 'all' | 'partial' | 'synthetic' | 'none'
  /** `subtype` of the result message. */
  readonly subtype: ResultSubtype
  // Spec R-GOAL-23.
  /**
   * Whether hosts receive a success result and exit code 0 in spite of the ending. Existing hosts read `result` after
   * such a run; `terminal_reason` shows the difference.
   */
  readonly hostsReadResult: boolean
  // Spec R-SDK-5.
  /** `terminal_reason` of the result message, if it differs from the reason. */
  readonly sdkName: string | null
  // Spec R-SUB-6, R-AFTER-3b.
  /** How a parent treats a subagent with this ending, and how a stage treats its request: as done, perhaps without a text, or as failed. */
  readonly parentResult: 'done' | 'failed'
  /** Exit code of the terminal program; null if no reader is left. */
  readonly exitCode: number | null
  // Spec R-DEC-2.
  /** Whether a hook may request to continue. */
  readonly overridable: boolean
  // Spec R-GOAL-9.
  /** Whether the goals of the run are checked once more before this ending, because it is a limit or looks like success. */
  readonly checksGoal: boolean
  // Spec R-DEC-6.
  /** Whether `wrapUp` requests a last answer at this ending. */
  readonly wrapsUp: boolean
  /** The transcript entry at the end, whatever raised the ending: the failure, the used-up turns, or nothing. */
  readonly transcriptSays: 'failure' | 'max_turns_reached' | 'nothing'
  /** The limit that it reports; null for none. Such an ending may be the next stop of a run and of a what-if analysis. */
  readonly limit: EndingLimit | null
  /** The bound that a stage after a run has reached if its request ended in this way; null: the stage failed. */
  readonly stageBound: 'max_turns' | 'max_budget_usd' | 'token_limit' | 'time_limit' | null
  // Spec R-SESS-3.
  /** What a session needs before it continues: nothing, answers to the pending calls, or a prompt. */
  readonly continuesWith: 'nothing' | 'answers' | 'prompt'
  // Spec R-EVERY-5.
  /**
   * Whether a loop that repeats a prompt starts its next round after this ending. `begins`: yes. `unless_repeated`:
   * until several consecutive rounds ended the same way. `never`: the next round would end the same way, or a person
   * ended the loop.
   */
  readonly nextRound: 'begins' | 'unless_repeated' | 'never'
}
