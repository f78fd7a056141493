import type { AbortCause } from '../values/abort.ts'
import type { AssistantMessage, Usage } from '../model/messages.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { ModelRequest } from '../model/model.ts'
import type { MayWait } from '../model/service-waits.ts'
import type { Charge } from '../run/request-bill.ts'
import type { Deadline } from '../values/deadline.ts'
import type { Grant, OverBudget, PromptEstimate, ReplyCap, RequestBounds } from './grant.ts'

/** The outcome of one attempt, as recorded. */
export type Attempt =
  | {
      readonly kind: 'answered'
      readonly message: AssistantMessage
      /** Set if the stream broke after complete blocks. */
      readonly streamError: ModelErrorJson | null
      readonly grant: Grant
      readonly charge: Charge
      /** Identifies what the service's count applies to in addition to the messages. A resume may use another prompt (`PromptCount`). */
      readonly promptDigest: string
      /** The warnings of the reply (`ModelReply`). */
      readonly warnings?: readonly string[]
    }
  | {
      readonly kind: 'failed'
      readonly error: ModelErrorJson
      readonly charge: Charge
      readonly grant: Grant
      /** When the service accepts requests again, in milliseconds since 1970, if it reported that. */
      readonly retryAtMs?: number
      /** Set if waiting for the service may help. */
      readonly mayWait?: MayWait
    }
  /** `partial` contains what was received before the abort. */
  | {
      readonly kind: 'aborted'
      readonly cause: AbortCause
      readonly partial: AssistantMessage | null
      readonly charge: Charge
      /** Absent if the attempt was aborted while waiting for admission. */
      readonly grant?: Grant
    }
  /** The budget has too little left: no request was made. */
  | { readonly kind: 'over_budget'; readonly overBudget: OverBudget }
  /** The record contains its start but not its end: it is charged at its reservation. */
  | { readonly kind: 'unknown'; readonly charge: Charge; readonly grant: Grant }

/** The warnings of the model for this reply. A record may contain anything. */
export function warningsOf(attempt: Attempt): readonly string[] {
  const warnings = attempt.kind === 'answered' ? attempt.warnings : undefined
  return Array.isArray(warnings) ? warnings.filter((warning) => typeof warning === 'string') : []
}

/** A timer that can be paused. */
export type RestingTime = Pick<Deadline, 'pause' | 'resume'>

/** How one request is sent and paid, independent of the attempt number. */
export interface RequestPlan extends RequestBounds {
  /** Whether the request is made in parallel with the turn: it does not change the run, and the caller enters its result later. */
  readonly isConcurrent?: true
  /** Whether this is a side question, which emits no `model_start`. */
  readonly isQuestion?: true
  /** Aborted when nobody waits for the answer any more. */
  readonly cutOff?: AbortSignal
  /** Timers of the caller, paused while the request waits for its service. */
  readonly times?: readonly RestingTime[]
  /** Prefix of its step names; the attempt number follows. */
  readonly name: string
  // Spec R-STEP-5.
  /** Identifies the content: a recorded step with another digest is a mismatch, not an answer to this request. */
  digest(): string
  /** Identifies the prompt without the messages. */
  promptDigest(): string
  body(grant: Grant, idempotencyKey: string): ModelRequest
  /** Estimated tokens of its prompt. */
  promptEstimate(): PromptEstimate
  /** Returns the same request with a lower cap. */
  withCap(cap: ReplyCap): RequestPlan
  /** Tokens of the conversation after the answer, from the service's count if it covers the conversation. */
  contextAfter(usage: Usage | null): number
}

/** The outcome of an attempt that was made and is charged. */
export type MadeAttempt = Exclude<Attempt, { readonly kind: 'over_budget' }>
