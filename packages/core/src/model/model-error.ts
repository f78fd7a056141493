import { HaltingError } from '../errors.ts'
import type { Usage } from '../messages.ts'

/** The kinds of failure that the loop tells apart. The first eight are names of the SDK message format (spec R-SDK-12). */
export type ModelErrorKind =
  | 'authentication_failed'
  | 'billing_error'
  | 'rate_limit'
  | 'overloaded'
  | 'invalid_request'
  | 'model_not_found'
  | 'server_error'
  | 'unknown'
  | 'prompt_too_long'
  | 'image'
  | 'timeout'
  | 'connection'

/** The recorded form of a `ModelError`: JSON, with what a retry and the ledger need. */
export type ModelErrorJson = {
  readonly kind: ModelErrorKind
  readonly message: string
  readonly status: number | null
  readonly retryable: boolean
  readonly retryAfterMs: number | null
  readonly requestId: string | null
  /** What the service said it billed for this failed attempt; null when it did not say. */
  readonly usage: Usage | null
  /** `nothing` when the service refused the request; `unknown` when it may have worked on it: then the worst case is charged. */
  readonly billed: 'nothing' | 'unknown'
}

/** What a `ModelError` is made of; what is absent follows from `kind` and `status`. */
export interface ModelErrorInit {
  readonly kind: ModelErrorKind
  readonly message: string
  /** HTTP status, when there was an answer. */
  readonly status?: number | null
  readonly retryable?: boolean
  /** How long the service asked to wait, in milliseconds. */
  readonly retryAfterMs?: number | null
  readonly requestId?: string | null
  readonly usage?: Usage | null
  /** `nothing` for an HTTP error status, else `unknown`, unless said otherwise. */
  readonly billed?: 'nothing' | 'unknown'
  readonly cause?: unknown
}

const retryableKinds: ReadonlySet<ModelErrorKind> = new Set([
  'rate_limit',
  'overloaded',
  'server_error',
  'timeout',
  'connection',
])

/** What a model rejects with. */
export class ModelError extends HaltingError {
  override readonly name = 'ModelError'
  readonly kind: ModelErrorKind
  readonly status: number | null
  readonly retryable: boolean
  readonly retryAfterMs: number | null
  readonly requestId: string | null
  readonly usage: Usage | null
  readonly billed: 'nothing' | 'unknown'

  constructor(init: ModelErrorInit) {
    super('model', init.message, {
      details: { kind: init.kind, status: init.status ?? null, requestId: init.requestId ?? null },
      ...(init.cause !== undefined && { cause: init.cause }),
    })
    this.kind = init.kind
    this.status = init.status ?? null
    this.retryable = init.retryable ?? retryableKinds.has(init.kind)
    this.retryAfterMs = init.retryAfterMs ?? null
    this.requestId = init.requestId ?? null
    this.usage = init.usage ?? null
    this.billed = init.billed ?? (this.status !== null && this.status >= 400 ? 'nothing' : 'unknown')
  }

  /** The recorded form, which is data: see `ModelErrorJson`. */
  toRecord(): ModelErrorJson {
    const { kind, message, status, retryable, retryAfterMs, requestId, usage, billed } = this
    return { kind, message, status, retryable, retryAfterMs, requestId, usage, billed }
  }
}

/** Every attempt at a request failed; `last` is the failure of the last one. */
export class RetriesExhaustedError extends HaltingError {
  override readonly name = 'RetriesExhaustedError'
  readonly attempts: number
  readonly last: ModelErrorJson

  constructor(attempts: number, last: ModelErrorJson) {
    super('retries_exhausted', `The model service failed ${attempts} times. The last time: ${last.message}`, {
      details: { attempts, kind: last.kind, status: last.status, requestId: last.requestId },
    })
    this.attempts = attempts
    this.last = last
  }
}
