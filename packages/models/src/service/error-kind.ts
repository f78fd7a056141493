import type { ModelErrorKind } from '@halting/core/adapters'
import type { ErrorBody } from './error-body.ts'

/** Returns the status that an error without a status implies. */
export function impliedStatus({ type, code }: ErrorBody): number {
  const fromCode = Number(code)
  if (Number.isInteger(fromCode) && fromCode >= 400 && fromCode < 600) return fromCode
  return byName(statusOfName, type) ?? byName(statusOfName, code) ?? (/image/i.test(code) ? 400 : 500)
}

const statusOfName: { readonly [name: string]: number } = {
  invalid_request_error: 400,
  badrequesterror: 400,
  invalid_argument: 400,
  invalid_prompt: 400,
  cyber_policy: 400,
  bio_policy: 400,
  data_residency_mismatch: 400,
  authentication_error: 401,
  billing_error: 402,
  usage_not_included: 402,
  permission_error: 403,
  not_found_error: 404,
  notfounderror: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  usage_limit_reached: 429,
  resource_exhausted: 429,
  api_error: 500,
  server_error: 500,
  unavailable: 503,
  slow_down: 503,
  server_is_overloaded: 503,
  timeout_error: 504,
  vector_store_timeout: 504,
  overloaded_error: 529,
}

const kindOfName: { readonly [name: string]: ModelErrorKind } = {
  overloaded_error: 'overloaded',
  slow_down: 'overloaded',
  server_is_overloaded: 'overloaded',
  insufficient_quota: 'billing_error',
  billing_hard_limit_reached: 'billing_error',
  billing_not_active: 'billing_error',
  context_length_exceeded: 'prompt_too_long',
  exceed_context_size_error: 'prompt_too_long',
  model_max_prompt_tokens_exceeded: 'prompt_too_long',
  invalid_api_key: 'authentication_failed',
  model_not_found: 'model_not_found',
}

function byName<Value>(table: { readonly [name: string]: Value }, name: string): Value | undefined {
  const key = name.toLowerCase()
  return Object.hasOwn(table, key) ? table[key] : undefined
}

// Service-specific wording: nothing else distinguishes one 400 from another.
const capTooLarge = /max_(completion_)?tokens\W.{0,60}too large/i
const promptTooLong = new RegExp(
  [
    /prompt ((is )?too long|exceeds)|reduce the length of the (messages|prompt|input)/,
    /(exceeds?|exceeded|greater than) (the |this model's |your )?(available |maximum |model )?(context|token limit|number of tokens)/,
    /maximum (context|prompt) length|max context length|context ?window|request_too_large/,
    /input (is too long|tokens exceed)|too large for model|too many tokens|token count.{0,30} exceeds/,
    /tokens \+ `?max_new_tokens|range of input length/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
)
const imageRefused =
  /image (exceeds|dimensions?|does not match|is too|input|content)|(unsupported|too many|at most \d+) image|process image|image\.source|image_url|not support (images?|vision)|multimodal/i
/** Message of a service that accepts only text. Only content that is not just text is sent as a list. */
const wantsText = /content must be a string/i
const noCredit = /(credit|insufficient) balance/i
/**
 * Messages about a spending cap or a plan limit. The word "quota" alone is not sufficient: per-minute limits use it,
 * too.
 */
const spendCap = new RegExp(
  [
    /(exceeded|reached|hit|over) (your|the|its|this) .{0,40}(spend|quota|budget|usage limit|monthly limit|credit|billing)/,
    /(spend|spending|usage|monthly|billing|budget|credit) (hard )?(limit|cap)/,
    /insufficient (quota|balance|funds|credit)|credit balance|out of credits?|no credits? (left|remaining)|budget (exceeded|has been exceeded|exhausted)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
)
const address = /https?:\/\/\S+/gi
/** Message about a request larger than a per-minute quota: waiting does not help. */
const neverFits = /request too large/i
const atCapacity = /overload|capacity|too busy|high demand/i
/** Some services answer a wrong key with 400. */
const wrongKey = /(incorrect|invalid) api key|api key (not valid|is invalid)/i
/** Bedrock answers an unknown model with 400. */
const unknownModel = /model identifier is invalid/i
/** Messages with which the service refuses the content of the request, not the sender. */
const flagged = /moderation|flagged/i

/** An error with its status. */
export interface ErrorWithStatus extends ErrorBody {
  readonly status: number
  /** Whether the error says how long to wait. */
  readonly asksToWait: boolean
  /** Whether the error itself names a reset time: then a cap is temporary, whatever its name. */
  readonly namesReset: boolean
}

export function errorKindOf(failed: ErrorWithStatus): ModelErrorKind {
  const { status, type, code, message } = failed
  const named = byName(kindOfName, type) ?? byName(kindOfName, code)
  const isPassing = named === 'billing_error' && status === 429 && failed.namesReset
  if (named !== undefined && !isPassing) return named
  switch (status) {
    case 401:
      return 'authentication_failed'
    case 402:
      return 'billing_error'
    case 403:
      return flagged.test(message) ? 'invalid_request' : 'authentication_failed'
    case 404:
      // A router that knows no service for the request.
      return imageRefused.test(message) ? 'image' : 'model_not_found'
    case 408:
    case 504:
      return 'timeout'
    case 413:
      return 'prompt_too_long'
    case 429:
      return limitKind(failed)
    case 498:
    case 529:
      return 'overloaded'
    default:
      return status >= 500 ? serverKind(failed) : requestKind(failed)
  }
}

/** A rate limit says when to retry; a spending cap does not, and waiting does not help. */
function limitKind({ code, message, asksToWait }: ErrorWithStatus): ModelErrorKind {
  if (neverFits.test(message)) return 'prompt_too_long'
  const isRate = asksToWait || code === 'rate_limit_exceeded'
  // Linked addresses contain arbitrary words.
  return !isRate && spendCap.test(message.replaceAll(address, '')) ? 'billing_error' : 'rate_limit'
}

/** Some services report a client error as a server error. */
function serverKind(failed: ErrorWithStatus): ModelErrorKind {
  const { status, isApi, message } = failed
  if (!isApi) return 'server_error'
  if (isPromptTooLong(failed)) return 'prompt_too_long'
  if (status === 503) return atCapacity.test(message) ? 'overloaded' : 'server_error'
  return status === 500 && imageRefused.test(message) ? 'image' : 'server_error'
}

function requestKind(failed: ErrorWithStatus): ModelErrorKind {
  const { code, message, contextLimit } = failed
  // vLLM also uses this wording if the cap is too large for the rest of the window.
  if (capTooLarge.test(message)) return contextLimit?.includesOutput === true ? 'prompt_too_long' : 'invalid_request'
  if (isPromptTooLong(failed)) return 'prompt_too_long'
  if (/image/i.test(code) || imageRefused.test(message) || wantsText.test(message)) return 'image'
  if (noCredit.test(message)) return 'billing_error'
  if (unknownModel.test(message)) return 'model_not_found'
  return wrongKey.test(message) ? 'authentication_failed' : 'invalid_request'
}

/** An error that names the limit means that the prompt exceeded it. */
function isPromptTooLong({ message, contextLimit }: ErrorWithStatus): boolean {
  return contextLimit !== undefined || promptTooLong.test(message)
}
