import type { OutputSchema } from '../tools/output-schema.ts'
import type { RunOptions } from '../api/options.ts'
import type { JsonObject } from '../values/json.ts'
import type { MessageContent } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import type { SdkPromptSuggestion, SdkSystem } from '../sdk/sdk-messages.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { Transcript } from '../conversation/transcript.ts'
import type { StageReason } from '../steps/stage-record.ts'

// Spec R-AFTER-1.
/**
 * Work that starts when a run has completed and its result is available. It has its own limits on turns, dollars, tokens
 * and time. If it throws, only the stage ends.
 */
export interface Stage {
  /** Its name in messages and records, such as `memory`; unique in a list. */
  readonly name: string
  /** Limits of the stage; each has a default. */
  readonly limits?: StageLimits
  /** The model that it asks. Default: that of `afterRun`, or else that of the session. */
  readonly model?: Model
  /** Does the work and returns its outcome. */
  run(after: StageContext): Promise<StageOutcome> | StageOutcome
}

/** The limits of one stage, for all of its questions together. */
export interface StageLimits {
  /** Maximum number of turns. Default: 1. */
  readonly maxTurns?: number
  /** US dollars. Default: 0.05. The budget of the session applies, too. A model without a price is limited by tokens only. */
  readonly maxBudgetUsd?: number
  /** Input and output tokens. Default: 50,000. */
  readonly maxTotalTokens?: number
  /** Milliseconds from its start. Default: 30,000. */
  readonly maxDurationMs?: number
}

/** What a stage receives. */
export interface StageContext {
  /** Id of the session. */
  readonly sessionId: string
  /** The run before the stage. */
  readonly runId: string
  /** The result of that run; null if there was none. */
  readonly terminal: RunResult | null
  /** The session as it was when that run ended. */
  readonly transcript: Transcript
  /** Aborted at the time limit, and when the program ends. A result within the grace time still counts. */
  readonly signal: AbortSignal
  /**
   * Asks a model through the same loop and ledger as any run. Questions may run in sequence or in parallel; the limits
   * of the stage apply. Rejects with a `StageStop` if a limit, an abort or a failure prevents the answer. Do not catch
   * this error: it reports to the runtime how the stage ended.
   */
  readonly ask: <Output = unknown>(question: StageQuestion<Output>) => Promise<StageAnswer<Output>>
}

/** A question of a stage. A request contains no part of the session except these fields. */
export interface StageQuestion<Output = unknown> extends Pick<
  RunOptions,
  'system' | 'tools' | 'permissions' | 'thinking'
> {
  /** The question. */
  readonly prompt: MessageContent
  /** The schema of the answer. An answer that does not match is sent back within the remaining turns. */
  readonly output?: OutputSchema<Output>
  /** A conversation that the prompt continues. */
  readonly transcript?: Transcript
  /** The model to ask. Default: that of the stage. */
  readonly model?: Model
  /** Turns of this question. Default: one if it has neither tools nor a schema, otherwise all remaining turns. */
  readonly maxTurns?: number
  /** Maximum output tokens of each reply. Default: 4,096. A reply that is truncated at this limit ends the question as `token_limit`. */
  readonly maxOutputTokens?: number
}

/** A model's answer to a question of a stage. */
export interface StageAnswer<Output = unknown> {
  /** The last text of the model. */
  readonly text: string
  /** The parsed output; undefined without a schema. */
  readonly output: Output | undefined
}

/** The outcome of a stage: done, or nothing to do. Both are reported and recorded. */
export type StageOutcome =
  | {
      readonly kind: 'done'
      /** A sentence for people. */
      readonly message?: string
      /** Facts for programs, which the `stage_ended` message and the record contain. At most 16 kB. */
      readonly details?: JsonObject
      /** Messages that are emitted before the end of the stage; at most 20 of 16 kB each. */
      readonly messages?: readonly StageMessage[]
    }
  | {
      readonly kind: 'skipped'
      /** Why there was nothing to do. */
      readonly message: string
    }

type WithoutIds<Message> = Message extends unknown ? Omit<Message, 'uuid' | 'session_id'> : never

/** An SDK message of a stage, without the ids that are added to it. */
export type StageMessage = WithoutIds<
  | SdkPromptSuggestion
  | Extract<
      SdkSystem,
      {
        readonly subtype: 'informational' | 'hook_summary'
      }
    >
>

/** Thrown if a question of a stage has no answer; the stage ends for the same reason. */
export class StageStop extends Error {
  override readonly name = 'StageStop'
  /** Why the stage ends. */
  readonly reason: StageReason

  constructor(reason: StageReason, message: string) {
    super(message)
    this.reason = reason
  }
}
