import type { ToolStatus, Usage } from '@halting/core'
import { isJsonObject, noUsage, type ModelErrorKind } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { isAtWorst, recordedSteps, type Phase, type RecordedRequest } from './recorded-steps.ts'

/** One attempt at a model request that is on record, with what came of it. */
export interface PastRequest {
  /** The phase that the request belongs to. */
  readonly phase: Phase
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** Its name without the number of the attempt: attempts at the same request have the same. */
  readonly name: string
  /** Id of the model that was asked. */
  readonly model: string
  /** `unknown`: on record as begun, and its reply was lost. `open`: the record ends in its middle. */
  readonly came: 'answered' | 'failed' | 'aborted' | 'unknown' | 'open'
  /** Why the service did not answer; null where it did. */
  readonly failure: ModelErrorKind | null
  /** Milliseconds that it took. */
  readonly durationMs: number
  /** Input and output tokens; at worst case where nobody reported them. */
  readonly tokens: number
  /** In nano-dollars; of an open one what was reserved. */
  readonly nanos: number
  /** Nobody said what it came to: it is charged at worst case. */
  readonly isAtWorst: boolean
  /** What the service counted of the model that was asked; zeros where it told nothing. */
  readonly usage: Usage
  /** The part of other models, which the service asked by itself. It is in `nanos`. */
  readonly others: readonly {
    /** Id of the model. */
    readonly model: string
    /** Nano-dollars: 1e-9 US dollars. */
    readonly nanos: number
    /** Tokens. */
    readonly usage: Usage
  }[]
}

/** One call of a tool that is on record, and what became of it. */
export interface CallOutcome {
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** Id of the call. */
  readonly id: string
  /** Name of the tool. */
  readonly tool: string
  /** `open`: on record as asked for, without a result. */
  readonly status: ToolStatus | 'open'
}

/** What a run asked models and tools, one by one: for sums over many runs. Subagents are in it. */
export interface RecordedWork {
  /** The requests, in order. */
  readonly requests: readonly PastRequest[]
  /** The calls, in order. */
  readonly calls: readonly CallOutcome[]
}

/** The requests and the calls of a run, as they are on record. `accountOf` has their sums. */
export function recordedWork(records: readonly StepRecord[]): RecordedWork {
  const { requests, calls } = recordedSteps(records)
  const hasEnded = records.some((record) => record.type === 'end' && record.scope === '')
  return {
    requests: requests.map((request) => requestOf(request, hasEnded)),
    calls: calls.map(({ scope, id, name, status }) => ({ scope, id, tool: name, status })),
  }
}

function requestOf(request: RecordedRequest, hasEnded: boolean): PastRequest {
  const { phase, scope, name, model, isOpen, durationMs, tokens, nanos, came } = request
  const charge = isJsonObject(came?.['charge']) ? came['charge'] : {}
  const error = came?.['error']
  const others = charge['others']
  return {
    phase,
    scope,
    name: name.replace(/\.\d+$/, ''),
    model,
    came: isOpen ? (hasEnded ? 'unknown' : 'open') : kindOf(came?.['kind']),
    // Where an attempt failed the driver recorded a `ModelErrorJson`.
    failure: isJsonObject(error) && typeof error['kind'] === 'string' ? (error['kind'] as ModelErrorKind) : null,
    durationMs,
    tokens,
    nanos,
    isAtWorst: isAtWorst(request),
    // Where there is a usage in a charge, the loop has checked it.
    usage: isJsonObject(charge['usage']) ? (charge['usage'] as unknown as Usage) : usageOfMessage(came?.['message']),
    others: Array.isArray(others) ? (others as PastRequest['others']) : [],
  }
}

/** Requests of other programs have their usage in the message alone. */
function usageOfMessage(message: unknown): Usage {
  if (!isJsonObject(message) || !isJsonObject(message['usage'])) return noUsage
  return message['usage'] as unknown as Usage
}

function kindOf(kind: unknown): Exclude<PastRequest['came'], 'open'> {
  return kind === 'failed' || kind === 'aborted' || kind === 'unknown' ? kind : 'answered'
}
