import { plainTextOf } from './content.ts'
import { HaltingError } from '../values/errors.ts'
import { jsonOf } from '../values/json.ts'
import type { Usage } from './messages.ts'

// Spec R-SDK-12.
/** The kinds of failure that the loop tells apart. The first eight are names of the SDK message format. */
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
  /** Kind of the failure. */
  readonly kind: ModelErrorKind
  /** What happened, for a person. */
  readonly message: string
  /** HTTP status; null where there was no answer. */
  readonly status: number | null
  /** Whether another attempt may succeed. */
  readonly retryable: boolean
  /** Milliseconds that the service asked to wait; null when it did not. */
  readonly retryAfterMs: number | null
  /** The service's id of the request; null when it gave none. */
  readonly requestId: string | null
  /** What the service said it billed for this failed attempt; null when it did not say. */
  readonly usage: Usage | null
  /** `nothing` when the service refused the request; `unknown` when it may have worked on it: then the worst case is charged. */
  readonly billed: 'nothing' | 'unknown'
  /** Set when no connection to the service ever came about. */
  readonly neverConnected?: true
  /** Of the bytes of a reply that broke by what it said, and how it broke: the same again will break again. */
  readonly fingerprint?: string
  /**
   * What the service said about its window: input tokens that the request had, null when it did not say, and the most that fit. `includesOutput`: the
   * reply's cap counts against the limit too, so that asking for a shorter reply makes room.
   */
  readonly contextLimit?: {
    /** Input tokens of the request. */
    readonly used: number | null
    /** The most that fit. */
    readonly limit: number
    readonly includesOutput?: true
  }
  /** By how many tokens the prompt is too long, where the service says that and no limit. */
  readonly excessTokens?: number
}

/** What a `ModelError` is made of; what is absent follows from `kind` and `status`. */
export interface ModelErrorInit {
  /** Kind of the failure. */
  readonly kind: ModelErrorKind
  /** What happened, for a person. */
  readonly message: string
  /** HTTP status, when there was an answer. */
  readonly status?: number | null
  /** Whether another attempt may succeed. Default: decided by `kind`. */
  readonly retryable?: boolean
  /** How long the service asked to wait, in milliseconds. */
  readonly retryAfterMs?: number | null
  /** The service's id of the request. */
  readonly requestId?: string | null
  /** What the service said it billed for this attempt. */
  readonly usage?: Usage | null
  /** `nothing` for an HTTP error status, else `unknown`, unless said otherwise. */
  readonly billed?: 'nothing' | 'unknown'
  /** No connection to the service ever came about. */
  readonly neverConnected?: true | undefined
  /** Of the bytes of a reply that broke by what it said, and how it broke. */
  readonly fingerprint?: string | undefined
  /** What the service said about its window; left out where `limit` is no positive whole number. */
  readonly contextLimit?: ModelErrorJson['contextLimit'] | undefined
  /** By how many tokens the prompt is too long; left out where that is no positive whole number. */
  readonly excessTokens?: number | undefined
  /** The error behind it, as `Error.cause`. */
  readonly cause?: unknown
}

/** The kinds that there are, and whether trying again may help. */
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

/** What a model rejects with. */
export class ModelError extends HaltingError {
  override readonly name = 'ModelError'
  /** Kind of the failure. */
  readonly kind: ModelErrorKind
  /** HTTP status; null where there was no answer. */
  readonly status: number | null
  /** Whether another attempt may succeed. */
  readonly retryable: boolean
  /** Milliseconds that the service asked to wait; null when it did not. */
  readonly retryAfterMs: number | null
  /** The service's id of the request; null when it gave none. */
  readonly requestId: string | null
  /** What the service said it billed for this attempt; null when it did not say. */
  readonly usage: Usage | null
  /** `nothing` when the service refused the request; `unknown` when it may have worked on it. */
  readonly billed: 'nothing' | 'unknown'
  /** Set when no connection to the service was made. */
  readonly neverConnected: true | undefined
  /** Of the bytes of a reply that broke by its content, and of how it broke; undefined for other failures. */
  readonly fingerprint: string | undefined
  /** What the service said about its window; undefined for other failures. */
  readonly contextLimit: ModelErrorJson['contextLimit']
  /** Tokens by which the prompt is too long, where the service says that and no limit. */
  readonly excessTokens: number | undefined

  constructor(init: ModelErrorInit) {
    const { kind, status, requestId, ...own } = ownOf(init)
    super('model', own.message, {
      details: { kind, status, requestId },
      ...(init.cause !== undefined && { cause: init.cause }),
    })
    this.kind = kind
    this.status = status
    this.retryable = own.retryable
    this.retryAfterMs = own.retryAfterMs
    this.requestId = requestId
    this.usage = own.usage
    this.billed = own.billed
    this.neverConnected = own.neverConnected
    this.fingerprint = own.fingerprint
    this.contextLimit = own.contextLimit
    this.excessTokens = own.excessTokens
  }

  /** The recorded form, which is data: see `ModelErrorJson`. */
  toRecord(): ModelErrorJson {
    return ownOf(this)
  }
}

/** What an error says, as JSON. Plain JavaScript may say anything: what is of another type says nothing. */
function ownOf(init: ModelErrorInit): ModelErrorJson {
  const kind = Object.hasOwn(isRetryable, init.kind) ? init.kind : 'unknown'
  const status = Number.isFinite(init.status) ? (init.status ?? null) : null
  const { requestId, usage, billed, neverConnected, fingerprint, excessTokens } = init
  const contextLimit = limitOf(init.contextLimit)
  const retryable: unknown = init.retryable ?? isRetryable[kind]
  return {
    kind,
    message: plainTextOf(init.message),
    status,
    retryable: retryable === true,
    retryAfterMs: waitOf(init.retryAfterMs),
    requestId: typeof requestId === 'string' ? requestId : null,
    // What is no usage is found out where it is counted.
    usage: typeof usage === 'object' && usage !== null ? (jsonOf(usage) as Usage) : null,
    billed:
      billed === 'nothing' || billed === 'unknown' ? billed : status !== null && status >= 400 ? 'nothing' : 'unknown',
    ...(neverConnected === true && { neverConnected }),
    ...(typeof fingerprint === 'string' && { fingerprint }),
    ...(contextLimit !== undefined && { contextLimit }),
    ...(isCount(excessTokens) && { excessTokens }),
  }
}

/** Whole or not, but nothing that JSON has no number for. */
function waitOf(ms: unknown): number | null {
  if (typeof ms !== 'number' || Number.isNaN(ms)) return null
  return Math.min(Math.max(0, ms), Number.MAX_SAFE_INTEGER)
}

/** A limit that is none says nothing; a count that is none was not said. */
function limitOf(said: unknown): ModelErrorJson['contextLimit'] {
  if (typeof said !== 'object' || said === null) return undefined
  // Reading a field of an object gives something or undefined, which is all that is done with it.
  const { used, limit, includesOutput } = said as { readonly [field: string]: unknown }
  if (!isCount(limit)) return undefined
  return { used: isCount(used) ? used : null, limit, ...(includesOutput === true && { includesOutput }) }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}

/** `529`, or what kind of failure it is. */
export function failureName({ status, kind }: ModelErrorJson): string {
  return status === null ? kind.replaceAll('_', ' ') : String(status)
}

/** Every attempt at a request failed; `last` is the failure of the last one. */
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
