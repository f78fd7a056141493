import type { StopCategory } from './reason.ts'

// Spec R-END-1.
/** Where a run ended: a closed set. */
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

/** What frontends need to know of a limit. */
export interface EndingLimitFacts {
  /** What the limit counts: turns, tool calls, US dollars, tokens, milliseconds, tries of a goal, or repeated turns. */
  readonly unit: 'turns' | 'calls' | 'usd' | 'tokens' | 'ms' | 'tries' | 'repeats'
  /**
   * Who raises it before a run continues. `continuing`: to continue is enough, and as much again is granted. `person`: it is paid for, so a person
   * sets it. Null: there is no figure to raise.
   */
  readonly raisedBy: 'continuing' | 'person' | null
}

/** Facts by limit. The row of an ending names its limit. */
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

/** Raise the limit of the row and continue with the counters of the run. */
interface RaiseLimit {
  readonly kind: 'raise-limit'
}

/** One thing to do after an ending. Frontends decide by which key, button or command. */
export type EndingAction =
  | RaiseLimit
  /** Ask once more, without tools, for a last answer. */
  | { readonly kind: 'last-answer' }
  /** Continue with this prompt. */
  | {
      readonly kind: 'prompt'
      /** The label of the button or key. */
      readonly label: string
      /** The text of the prompt. */
      readonly text: string
    }
  /** Resume, where the session can be resumed; else continue with a prompt. */
  | { readonly kind: 'retry' }
  | { readonly kind: 'compact' }
  /** Continue with what the last check of the goals found, where no tries are needed for it: else `raise-limit` does so. */
  | { readonly kind: 'send-back' }
  /** Choose another model, and continue with it. */
  | { readonly kind: 'another-model' }
  /** Revert the file changes of the run. */
  | { readonly kind: 'undo' }
  /** Approve or deny the calls that wait. */
  | { readonly kind: 'approve' }
  /** Show why the run ended. */
  | { readonly kind: 'explain' }

/** Advice as a text, or as its kind where it depends on the limit, or on the options that a frontend was started with. */
export type EndingAdvice =
  | string
  | RaiseLimit
  /** Permit compaction. With `otherwise`: only where it was switched off, else this text. */
  | {
      readonly kind: 'permit-compaction'
      /** The advice where compaction is already permitted; absent: the same advice in both cases. */
      readonly otherwise?: string
    }
  /** Give compaction more room than it had. */
  | { readonly kind: 'more-room' }
  | { readonly kind: 'another-model' }
  /** Inspect the failure, and which failures end a run. */
  | { readonly kind: 'inspect-failure' }

/** What follows the sentence of an ending. */
export type EndingDetail =
  | { readonly kind: 'none' }
  /** The message of the signal: without this prefix, and not at all where it is `unless`. */
  | {
      readonly kind: 'message'
      /** A prefix that is removed from the message; absent: none is. */
      readonly prefix?: string
      /** A message that is not shown at all, since the sentence has said it; absent: every message is shown. */
      readonly unless?: string
    }
  /** `used` and `limit` of the signal's context in this unit, and what the next request needs where the signal has it. */
  | {
      readonly kind: 'figures'
      /** Unit in which the two figures are printed. */
      readonly unit: Exclude<EndingLimitFacts['unit'], 'repeats'>
    }

/** How an ending is presented to a person. The loop reads none of it. */
export interface EndingPresentation {
  /**
   * How it is announced. `success`: the work is done; `stopped`: a hook, a guard or a tool ended it; `limited`: a limit did; `paused`: it waits for a
   * person; `interrupted`: a person ended it, or nobody listened; `unanswered`: it ended by itself and said nothing; `failed`: something did not work.
   */
  readonly announcement: 'success' | 'stopped' | 'limited' | 'paused' | 'interrupted' | 'unanswered' | 'failed'
  // Spec R-TERM-25.
  /** What happened, without a mark at its end. */
  readonly sentence: string
  /** What follows the sentence: nothing, the message of the signal, or its figures. */
  readonly detail: EndingDetail
  // Spec R-TEXT-5.
  /** What to do next, by the kind of frontend; '' for nothing, or where the actions say it. */
  readonly advice: {
    /** One prompt a process. */
    readonly command: EndingAdvice
    /** For an editor. */
    readonly editor: string | RaiseLimit
    /** For the interactive program. */
    readonly terminal: string
  }
  // Spec R-TERM-26.
  /** What is offered after it, the most useful first. */
  readonly actions: readonly EndingAction[]
  /** What `halting why` prints a command for; null for none. */
  readonly resume: EndingAction | null
  // Spec R-ACP-5.
  /** Stop reason of the Agent Client Protocol. `error`: the prompt is answered with an error. `cancelled`: where the client cancelled, else `end_turn`. */
  readonly acp: 'end_turn' | 'max_turn_requests' | 'max_tokens' | 'refusal' | 'cancelled' | 'error'
}

/** One row of the table: everything about an ending that does not depend on the run. */
export interface Ending extends EndingPresentation {
  /** The category of the signal that leads to this ending. */
  readonly category: StopCategory
  /** graceful: at a checkpoint; immediate: what is in flight is aborted or has failed; preemptive: before a request is made. */
  readonly manner: 'graceful' | 'immediate' | 'preemptive'
  // Spec R-END-4.
  /** Which results the calls of the last message have. */
  readonly toolResults: 'all' | 'partial' | 'synthetic' | 'none'
  /** `subtype` of the result message. */
  readonly subtype: ResultSubtype
  // Spec R-GOAL-23.
  /**
   * Over the host protocol its result is a success all the same, and so is the exit code there: existing hosts read `result` after such a run, and
   * `terminal_reason` tells the difference.
   */
  readonly hostsReadResult: boolean
  // Spec R-SDK-5.
  /** `terminal_reason` of the result message, where it is not the reason. */
  readonly sdkName: string | null
  // Spec R-SUB-6, R-AFTER-3b.
  /** What a subagent that ended so is to its parent, and a question to its stage: done, perhaps without a text, or failed. */
  readonly parentResult: 'done' | 'failed'
  /** Exit code of the terminal program; null where nobody is left to read it. */
  readonly exitCode: number | null
  // Spec R-DEC-2.
  /** Whether a hook may ask to go on although the run would end. */
  readonly overridable: boolean
  // Spec R-GOAL-9.
  /** Whether the goals of the run are checked once more before it: it is a limit, or looks like success. */
  readonly checksGoal: boolean
  // Spec R-DEC-6.
  /** Whether `wrapUp` asks for a last answer here. */
  readonly wrapsUp: boolean
  /** What the transcript says at its end, whoever raised it: what failed, that the turns are used up, or nothing. */
  readonly transcriptSays: 'failure' | 'max_turns_reached' | 'nothing'
  /** The limit that it reports, which makes it a possible next stop of a run and of a what-if; null for none. */
  readonly limit: EndingLimit | null
  /** The bound that a stage after a run has reached when its question ended so; null: the stage failed. */
  readonly stageBound: 'max_turns' | 'max_budget_usd' | 'token_limit' | 'time_limit' | null
  // Spec R-SESS-3.
  /** What a session needs before it continues: nothing, answers to the calls that wait, or a prompt. */
  readonly continuesWith: 'nothing' | 'answers' | 'prompt'
  // Spec R-EVERY-5.
  /**
   * Whether a loop that repeats a prompt begins its next round after a run that ended so. `begins`: it does; `unless_repeated`: it
   * does until several rounds in a row have ended the same way; `never`: the next round would end the same way, or a person ended the loop.
   */
  readonly nextRound: 'begins' | 'unless_repeated' | 'never'
}
