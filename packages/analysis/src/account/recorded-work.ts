import type { ToolStatus, Usage } from '@halting/core'
import { isJsonObject, noUsage, type ModelErrorKind } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { isAtWorst, recordedSteps, type Phase, type RecordedRequest } from './recorded-steps.ts'

/** One recorded attempt at a model request and its outcome. */
export interface PastRequest {
  /** The phase that the request belongs to. */
  readonly phase: Phase
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** Name of the request without the number of the attempt; all attempts at a request share it. */
  readonly name: string
  /** Id of the model that was asked. */
  readonly model: string
  /** `unknown`: the request was recorded as begun and its reply was lost. `open`: the record ends during the request. */
  readonly outcome: 'answered' | 'failed' | 'aborted' | 'unknown' | 'open'
  /** Why the request failed; null when it did not. */
  readonly failure: ModelErrorKind | null
  /** Milliseconds that it took. */
  readonly durationMs: number
  /** Input and output tokens; at worst case when none were reported. */
  readonly tokens: number
  /** Nano-dollars; for an open request the amount reserved. */
  readonly nanos: number
  /** Whether the usage was never reported, so that the request is charged at worst case. */
  readonly isAtWorst: boolean
  /** The usage that the service reported for the requested model; zeros when it reported none. */
  readonly usage: Usage
  /** The part of other models that the service used on its own. Included in `nanos`. */
  readonly others: readonly {
    /** Id of the model. */
    readonly model: string
    /** Nano-dollars: 1e-9 US dollars. */
    readonly nanos: number
    /** Tokens. */
    readonly usage: Usage
  }[]
}

/** One recorded tool call and its outcome. */
export interface CallOutcome {
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** Id of the call. */
  readonly id: string
  /** Name of the tool. */
  readonly tool: string
  /** `open`: the call was requested and has no recorded result. */
  readonly status: ToolStatus | 'open'
}

/** All requests and calls of a run, including those of subagents, for sums over many runs. */
export interface RecordedWork {
  /** The requests, in order. */
  readonly requests: readonly PastRequest[]
  /** The calls, in order. */
  readonly calls: readonly CallOutcome[]
}

/** Reads the requests and calls of a run from its records. `accountOf` computes their sums. */
export function recordedWork(records: readonly StepRecord[]): RecordedWork {
  const { requests, calls } = recordedSteps(records)
  const hasEnded = records.some((record) => record.type === 'end' && record.scope === '')
  return {
    requests: requests.map((request) => requestOf(request, hasEnded)),
    calls: calls.map(({ scope, id, name, status }) => ({ scope, id, tool: name, status })),
  }
}

function requestOf(request: RecordedRequest, hasEnded: boolean): PastRequest {
  const { phase, scope, name, model, isOpen, durationMs, tokens, nanos, result: came } = request
  const charge = isJsonObject(came?.['charge']) ? came['charge'] : {}
  const error = came?.['error']
  const otherCharges = charge['others']
  return {
    phase,
    scope,
    name: name.replace(/\.\d+$/, ''),
    model,
    outcome: isOpen ? (hasEnded ? 'unknown' : 'open') : kindOf(came?.['kind']),
    // For a failed attempt the step engine records a `ModelErrorJson`.
    failure: isJsonObject(error) && typeof error['kind'] === 'string' ? (error['kind'] as ModelErrorKind) : null,
    durationMs,
    tokens,
    nanos,
    isAtWorst: isAtWorst(request),
    // The loop has validated the usage of a charge.
    usage: isJsonObject(charge['usage']) ? (charge['usage'] as unknown as Usage) : usageOfMessage(came?.['message']),
    others: Array.isArray(otherCharges) ? (otherCharges as PastRequest['others']) : [],
  }
}

/** Requests of other programs have their usage only in the message. */
function usageOfMessage(message: unknown): Usage {
  if (!isJsonObject(message) || !isJsonObject(message['usage'])) return noUsage
  return message['usage'] as unknown as Usage
}

function kindOf(kind: unknown): Exclude<PastRequest['outcome'], 'open'> {
  return kind === 'failed' || kind === 'aborted' || kind === 'unknown' ? kind : 'answered'
}
