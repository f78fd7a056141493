import type { Model } from '../model/model.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { Run } from '../run/run.ts'
import type { Grant, PromptEstimate, ReplyCap } from './grant.ts'
import type { RequestPlan } from './request-plan.ts'
import { sharedWindowOf } from './window.ts'

// Some services count the reply's cap against the window. They refuse a request whose prompt would fit with a lower cap. Spec R-CTX-10b.
/** The cap to request: the wanted one, or what the prompt leaves of a window that prompt and reply share. */
export function capInWindow(run: Run, model: Model, wanted: number, prompt: () => PromptEstimate): ReplyCap {
  const window = sharedWindowOf(run, model)
  if (window === undefined) return { cap: wanted }
  // If less is left than a useful reply needs, the refusal will report the exact number of tokens that fit.
  const cap = Math.max(roomNextTo(window, prompt()), minUsefulTokens(run, wanted))
  return cap < wanted ? { cap, isOfWindow: true } : { cap: wanted }
}

/**
 * Tokens that a window leaves in addition to a prompt. The uncounted part may be longer than estimated, but at most half
 * of the remaining tokens is reserved for that.
 */
function roomNextTo(window: number, { tokens, uncountedTokens }: PromptEstimate): number {
  const roomLeft = window - tokens - countMargin
  const doubt = Math.max(uncountedTokens * uncertainty, leastDoubt)
  return Math.floor(roomLeft - Math.min(doubt, Math.max(0, roomLeft) / 2))
}

/** Tokens by which a service's count may exceed its earlier count of the same prompt: some fill in a template later. */
const countMargin = 16

/** An estimate is rarely too low by more than this share, or by more than what a service adds around messages. */
const uncertainty = 0.5
const leastDoubt = 128

// Spec R-REQ-14.
/**
 * The same request with a lower cap, after a refusal that counted the cap. Undefined if no shorter reply would fit, or
 * only a uselessly short one. The conversation must be compacted then.
 */
export function withShorterReply(
  run: Run,
  plan: RequestPlan,
  { kind, contextLimit }: ModelErrorJson,
  { maxTokens }: Grant,
): RequestPlan | undefined {
  if (kind !== 'prompt_too_long' || contextLimit?.includesOutput !== true) return undefined
  const { used, limit } = contextLimit
  const cap = used === null ? likelyCap(limit, plan, maxTokens) : limit - used - countMargin
  // Tokens that the service refused are not available.
  const isShorter = cap < maxTokens && cap >= minUsefulTokens(run, plan.cap)
  return isShorter ? plan.withCap({ cap, isOfWindow: true }) : undefined
}

/**
 * The cap if the service did not count the prompt: the estimated remaining tokens, or half of the refused cap. 0 if the
 * prompt alone is known to be too long.
 */
function likelyCap(limit: number, plan: RequestPlan, refused: number): number {
  const prompt = plan.promptEstimate()
  const room = roomNextTo(limit, prompt)
  if (room >= minRoom && room < refused) return room
  const maxRoom = limit - prompt.tokens + prompt.uncountedTokens * uncertainty
  return Math.floor(Math.min(refused / 2, maxRoom))
}

/** If the estimated number of remaining tokens is smaller than this, the estimate is probably wrong. */
const minRoom = 2_048

/** How often one request is retried with a lower cap. Once is enough if the refusal reports the prompt's tokens. */
export const maxShorterReplies = 4

function minUsefulTokens({ context }: Run, cap: number): number {
  return Math.min(cap, context.settings.minUsefulTokens)
}
