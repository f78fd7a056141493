import type { OutputSchema } from '../tools/output-schema.ts'
import type { RunOptions } from '../api/options.ts'
import type { JsonObject } from '../values/json.ts'
import type { MessageContent } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import type { SdkPromptSuggestion, SdkSystem } from '../sdk/sdk-messages.ts'
import type { RunResult } from '../endings/terminal.ts'
import type { Transcript } from '../conversation/transcript.ts'
import type { StageReason } from '../steps/stage-record.ts'

// Spec R-AFTER-1.
/**
 * Work that begins when a run has completed and its result is out. It is bounded by itself: in turns, dollars, tokens and time.
 * What it throws ends it and nothing else.
 */
export interface Stage {
  /** By which it is told and recorded, such as `memory`; each of a list has another. */
  readonly name: string
  /** Bounds of the stage; those that are left out have their defaults. */
  readonly limits?: StageLimits
  /** The model that it asks; that of `afterRun`, else that of the session, when absent. */
  readonly model?: Model
  /** Does the work, and returns what came of it. */
  run(after: StageContext): Promise<StageOutcome> | StageOutcome
}

/** The bounds of one stage, over all that it asks. */
export interface StageLimits {
  /** Turns; 1 when absent. */
  readonly maxTurns?: number
  /** US dollars; 0.05 when absent. The budget of the session holds beside it. Of a model without a price the tokens alone are bounded. */
  readonly maxBudgetUsd?: number
  /** Input and output; 50,000 when absent. */
  readonly maxTotalTokens?: number
  /** Milliseconds from its start, whatever it does; 30,000 when absent. */
  readonly maxDurationMs?: number
}

/** What a stage is given. */
export interface StageContext {
  /** Id of the session. */
  readonly sessionId: string
  /** The run that it comes after. */
  readonly runId: string
  /** How that ended; null where no run was before it. */
  readonly terminal: RunResult | null
  /** The session as it was when that run ended. */
  readonly transcript: Transcript
  /** Aborted when its time is over, or the program ends. What heeds it within the grace time still counts. */
  readonly signal: AbortSignal
  /**
   * Asks a model, through the same loop and ledger as any run. One after another or beside each other: the bounds are those of the stage.
   * Rejects with a `StageStop` where a bound, an abort or a failure came before the answer. Let it through: it is how the stage ends then.
   */
  readonly ask: <Output = unknown>(question: StageQuestion<Output>) => Promise<StageAnswer<Output>>
}

/** What a stage asks. Nothing of the session goes along but what is given here. */
export interface StageQuestion<Output = unknown> extends Pick<
  RunOptions,
  'system' | 'tools' | 'permissions' | 'thinking'
> {
  /** The question. */
  readonly prompt: MessageContent
  /** What the answer must fit; it is sent back within the turns that are left. */
  readonly output?: OutputSchema<Output>
  /** A conversation that the prompt goes on with. */
  readonly transcript?: Transcript
  /** The model to ask. Default: that of the stage. */
  readonly model?: Model
  /** Turns of this question; one without tools and schema, else all that are left, when absent. */
  readonly maxTurns?: number
  /** Of each reply; 4,096 when absent. A reply that is cut there ends the question as `token_limit`. */
  readonly maxOutputTokens?: number
}

/** What a model answered to a question of a stage. */
export interface StageAnswer<Output = unknown> {
  /** The last text of the model. */
  readonly text: string
  /** What the schema made of it; undefined without one. */
  readonly output: Output | undefined
}

/** What a stage came to: done, or nothing to do, which is told and recorded as such. */
export type StageOutcome =
  | {
      readonly kind: 'done'
      /** In a sentence, for people. */
      readonly message?: string
      /** For programs: part of the `stage_ended` message and of the record. Bounded to 16 kB. */
      readonly details?: JsonObject
      /** Told before the end of the stage; at most 20 of 16 kB each. */
      readonly tells?: readonly StageMessage[]
    }
  | {
      readonly kind: 'skipped'
      /** Why there was nothing to do. */
      readonly message: string
    }

type Untold<Message> = Message extends unknown ? Omit<Message, 'uuid' | 'session_id'> : never

/** An SDK message of a stage, without the ids that it is given. */
export type StageMessage = Untold<
  | SdkPromptSuggestion
  | Extract<
      SdkSystem,
      {
        readonly subtype: 'informational' | 'hook_summary'
      }
    >
>

/** Why a question of a stage has no answer, and with it why the stage ends. */
export class StageStop extends Error {
  override readonly name = 'StageStop'
  /** Why the stage ends. */
  readonly reason: StageReason

  constructor(reason: StageReason, message: string) {
    super(message)
    this.reason = reason
  }
}
