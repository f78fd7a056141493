import type { AbortCause } from '../values/abort.ts'
import type { AssistantMessage, Usage } from '../model/messages.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { ModelRequest } from '../model/model.ts'
import type { MayWait } from '../model/service-waits.ts'
import type { Charge } from '../run/request-bill.ts'
import type { Deadline } from '../values/deadline.ts'
import type { Grant, OverBudget, PromptEstimate, ReplyCap, RequestBounds } from './grant.ts'

/** What one attempt came to, as recorded. */
export type Attempt =
  | {
      readonly kind: 'answered'
      readonly message: AssistantMessage
      /** Set when the stream broke after completed blocks. */
      readonly streamError: ModelErrorJson | null
      readonly grant: Grant
      readonly charge: Charge
      /** What the service's count is of, beside the messages; a resume may ask with another prompt (`PromptCount`). */
      readonly promptDigest: string
      /** Of the reply (`ModelReply`). */
      readonly warnings?: readonly string[]
    }
  | {
      readonly kind: 'failed'
      readonly error: ModelErrorJson
      readonly charge: Charge
      readonly grant: Grant
      /** When the service takes requests again, in milliseconds since 1970; where it said so. */
      readonly retryAtMs?: number
      /** Where waiting for the service helps. */
      readonly mayWait?: MayWait
    }
  /** `partial` holds what had come, so that nothing that was read is lost. */
  | {
      readonly kind: 'aborted'
      readonly cause: AbortCause
      readonly partial: AssistantMessage | null
      readonly charge: Charge
      /** None where it waited for room. */
      readonly grant?: Grant
    }
  /** The budget has no room for it: no request was made. */
  | { readonly kind: 'over_budget'; readonly overBudget: OverBudget }
  /** On record as begun and never as ended: charged at its reservation. */
  | { readonly kind: 'unknown'; readonly charge: Charge; readonly grant: Grant }

/** What the model warned of with its reply. A record may hold anything. */
export function warningsOf(attempt: Attempt): readonly string[] {
  const warnings = attempt.kind === 'answered' ? attempt.warnings : undefined
  return Array.isArray(warnings) ? warnings.filter((warning) => typeof warning === 'string') : []
}

/** A time that can stand still. */
export type RestingTime = Pick<Deadline, 'pause' | 'goOn'>

/** One request as it is asked and paid, whatever the number of the attempt. */
export interface RequestPlan extends RequestBounds {
  /** It is made beside the turn: nothing of the run is written, and whoever asks enters it later. */
  readonly isBeside?: true
  /** It is a question beside the conversation, which no `model_start` tells of. */
  readonly isQuestion?: true
  /** Aborted when nobody waits for the answer any more. */
  readonly cutOff?: AbortSignal
  /** Times that whoever asks has for it: they stand still while it waits for its service. */
  readonly times?: readonly RestingTime[]
  /** Of its steps; the number of the attempt comes behind it. */
  readonly name: string
  // Spec R-STEP-5.
  /** What it is about: a step that is found with another digest is a mismatch, not an answer. */
  digest(): string
  /** What is asked beside the messages. */
  promptDigest(): string
  body(grant: Grant, idempotencyKey: string): ModelRequest
  /** About how many tokens its prompt has. */
  promptEstimate(): PromptEstimate
  /** The same request with a lower cap. */
  withCap(cap: ReplyCap): RequestPlan
  /** Tokens of the conversation once it is answered: by what the service counted, where that is of the conversation. */
  contextAfter(usage: Usage | null): number
}

/** What is charged for an attempt that was made. */
export type Made = Exclude<Attempt, { readonly kind: 'over_budget' }>
