import { plainTextOf } from './content.ts'
import { HaltingError } from '../values/errors.ts'
import { jsonOf } from '../values/json.ts'
import type { Usage } from './messages.ts'

// Spec R-SDK-12.
/** The kinds of failure that the loop distinguishes. The first eight are names of the SDK message format. */
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

/** The recorded form of a `ModelError`: JSON, with everything that a retry and the ledger need. */
export type ModelErrorJson = {
  /** Kind of the failure. */
  readonly kind: ModelErrorKind
  /** Description for a person. */
  readonly message: string
  /** HTTP status; null without a response. */
  readonly status: number | null
  /** Whether another attempt may succeed. */
  readonly retryable: boolean
  /** Milliseconds that the service asked to wait; null if it did not. */
  readonly retryAfterMs: number | null
  /** The service's id of the request; null if it sent none. */
  readonly requestId: string | null
  /** Billed usage that the service reported for this failed attempt; null if it reported none. */
  readonly usage: Usage | null
  /** `nothing` if the service refused the request. `unknown` if it may have processed the request: the worst case is charged then. */
  readonly billed: 'nothing' | 'unknown'
  /** Set if no connection to the service was ever established. */
  readonly neverConnected?: true
  /** Identifies the bytes of a broken reply and how it broke: another request will break again. */
  readonly fingerprint?: string
  /**
   * The context window that the service reported: input tokens of the request (null if not reported) and the maximum
   * that fits. `includesOutput`: the reply's cap counts against the limit too, so a shorter reply may fit.
   */
  readonly contextLimit?: {
    /** Input tokens of the request. */
    readonly used: number | null
    /** The maximum that fits. */
    readonly limit: number
    readonly includesOutput?: true
  }
  /** By how many tokens the prompt is too long, if the service reports this but no limit. */
  readonly excessTokens?: number
}

/** The fields to construct a `ModelError`. Defaults follow from `kind` and `status`. */
export interface ModelErrorInit {
  /** Kind of the failure. */
  readonly kind: ModelErrorKind
  /** Description for a person. */
  readonly message: string
  /** HTTP status, if there was a response. */
  readonly status?: number | null
  /** Whether another attempt may succeed (default: depends on `kind`). */
  readonly retryable?: boolean
  /** How long the service asked to wait, in milliseconds. */
  readonly retryAfterMs?: number | null
  /** The service's id of the request. */
  readonly requestId?: string | null
  /** Billed usage that the service reported for this attempt. */
  readonly usage?: Usage | null
  /** Default: `nothing` for an HTTP error status, otherwise `unknown`. */
  readonly billed?: 'nothing' | 'unknown'
  /** No connection to the service was ever established. */
  readonly neverConnected?: true | undefined
  /** Identifies the bytes of a broken reply and how it broke. */
  readonly fingerprint?: string | undefined
  /** The context window reported by the service. Ignored if `limit` is not a positive integer. */
  readonly contextLimit?: ModelErrorJson['contextLimit'] | undefined
  /** By how many tokens the prompt is too long. Ignored if it is not a positive integer. */
  readonly excessTokens?: number | undefined
  /** The underlying error, as `Error.cause`. */
  readonly cause?: unknown
}

/** All kinds, and whether a retry may help. */
const isRetryable: { readonly [kind in ModelErrorKind]: boolean } = {
  authentication_failed: false,
  billing_error: false,
  rate_limit: true,
  overloaded: true,
  invalid_request: false,
  model_not_found: false,
  server_error: true,
  unknown: false,
  prompt_too_long: false,
  image: false,
  timeout: true,
  connection: true,
}

/** The error with which a model rejects. */
export class ModelError extends HaltingError {
  override readonly name = 'ModelError'
  /** Kind of the failure. */
  readonly kind: ModelErrorKind
  /** HTTP status; null without a response. */
  readonly status: number | null
  /** Whether another attempt may succeed. */
  readonly retryable: boolean
  /** Milliseconds that the service asked to wait; null if it did not. */
  readonly retryAfterMs: number | null
  /** The service's id of the request; null if it sent none. */
  readonly requestId: string | null
  /** Billed usage that the service reported for this attempt; null if it reported none. */
  readonly usage: Usage | null
  /** `nothing` if the service refused the request. `unknown` if it may have processed the request. */
  readonly billed: 'nothing' | 'unknown'
  /** Set if no connection to the service was established. */
  readonly neverConnected: true | undefined
  /** Identifies the content of a broken reply and how it broke; undefined for other failures. */
  readonly fingerprint: string | undefined
  /** The context window reported by the service; undefined for other failures. */
  readonly contextLimit: ModelErrorJson['contextLimit']
  /** Tokens by which the prompt is too long, if the service reports this but no limit. */
  readonly excessTokens: number | undefined

  constructor(init: ModelErrorInit) {
    const { kind, status, requestId, ...fields } = fieldsOfError(init)
    super('model', fields.message, {
      details: { kind, status, requestId },
      ...(init.cause !== undefined && { cause: init.cause }),
    })
    this.kind = kind
    this.status = status
    this.retryable = fields.retryable
    this.retryAfterMs = fields.retryAfterMs
    this.requestId = requestId
    this.usage = fields.usage
    this.billed = fields.billed
    this.neverConnected = fields.neverConnected
    this.fingerprint = fields.fingerprint
    this.contextLimit = fields.contextLimit
    this.excessTokens = fields.excessTokens
  }

  /** The recorded form as plain data: see `ModelErrorJson`. */
  toRecord(): ModelErrorJson {
    return fieldsOfError(this)
  }
}

/** The fields of an error, as JSON. JavaScript code may pass anything: values of the wrong type are ignored. */
function fieldsOfError(init: ModelErrorInit): ModelErrorJson {
  const kind = Object.hasOwn(isRetryable, init.kind) ? init.kind : 'unknown'
  const status = Number.isFinite(init.status) ? (init.status ?? null) : null
  const { requestId, usage, billed, neverConnected, fingerprint, excessTokens } = init
  const contextLimit = validContextLimit(init.contextLimit)
  const retryable: unknown = init.retryable ?? isRetryable[kind]
  return {
    kind,
    message: plainTextOf(init.message),
    status,
    retryable: retryable === true,
    retryAfterMs: validWaitMs(init.retryAfterMs),
    requestId: typeof requestId === 'string' ? requestId : null,
    // An invalid usage is detected when it is counted.
    usage: typeof usage === 'object' && usage !== null ? (jsonOf(usage) as Usage) : null,
    billed:
      billed === 'nothing' || billed === 'unknown' ? billed : status !== null && status >= 400 ? 'nothing' : 'unknown',
    ...(neverConnected === true && { neverConnected }),
    ...(typeof fingerprint === 'string' && { fingerprint }),
    ...(contextLimit !== undefined && { contextLimit }),
    ...(isPositiveInteger(excessTokens) && { excessTokens }),
  }
}

/** Any finite number: JSON has no other. */
function validWaitMs(ms: unknown): number | null {
  if (typeof ms !== 'number' || Number.isNaN(ms)) return null
  return Math.min(Math.max(0, ms), Number.MAX_SAFE_INTEGER)
}

/** An invalid limit is ignored; an invalid count becomes null. */
function validContextLimit(reported: unknown): ModelErrorJson['contextLimit'] {
  if (typeof reported !== 'object' || reported === null) return undefined
  // Reading a field of any object is safe and returns a value or undefined.
  const { used, limit, includesOutput } = reported as { readonly [field: string]: unknown }
  if (!isPositiveInteger(limit)) return undefined
  return { used: isPositiveInteger(used) ? used : null, limit, ...(includesOutput === true && { includesOutput }) }
}

function isPositiveInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}

/** The HTTP status, such as `529`, or else the kind of failure. */
export function failureName({ status, kind }: ModelErrorJson): string {
  return status === null ? kind.replaceAll('_', ' ') : String(status)
}

/** Every attempt at a request failed; `last` is the last failure. */
export class RetriesExhaustedError extends HaltingError {
  override readonly name = 'RetriesExhaustedError'
  /** Attempts that were made. */
  readonly attempts: number
  /** The failure of the last attempt. */
  readonly last: ModelErrorJson

  constructor(attempts: number, last: ModelErrorJson) {
    super(
      'retries_exhausted',
      attempts === 1
        ? `The model service failed: ${last.message}`
        : `The model service failed ${attempts} times. The last time: ${last.message}`,
      {
        details: { attempts, kind: last.kind, status: last.status, requestId: last.requestId },
      },
    )
    this.attempts = attempts
    this.last = last
  }
}
