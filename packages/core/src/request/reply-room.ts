import type { Model } from '../model/model.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { Run } from '../run/run.ts'
import type { Grant, PromptEstimate, ReplyCap } from './grant.ts'
import type { RequestPlan } from './request-plan.ts'
import { sharedWindowOf } from './window.ts'

// Services that count the reply's cap against the window refuse a request whose prompt would fit with a lower cap.

// Spec R-CTX-10b.
/** The cap that is asked for: what is wanted, or what a window that holds prompt and reply leaves. */
export function capInWindow(run: Run, model: Model, wanted: number, prompt: () => PromptEstimate): ReplyCap {
  const window = sharedWindowOf(run, model)
  if (window === undefined) return { cap: wanted }
  // Where less is left than a useful reply needs, the refusal says exactly how much there is.
  const cap = Math.max(roomBeside(window, prompt()), usefulOf(run, wanted))
  return cap < wanted ? { cap, isOfWindow: true } : { cap: wanted }
}

/** Tokens that a window leaves beside a prompt. What was not counted may be more than is estimated, but that gives away half of the room at most. */
function roomBeside(window: number, { tokens, uncountedTokens }: PromptEstimate): number {
  const left = window - tokens - countMargin
  const doubt = Math.max(uncountedTokens * uncertainty, leastDoubt)
  return Math.floor(left - Math.min(doubt, Math.max(0, left) / 2))
}

/** Tokens that a service may count more than it said for the same prompt: some fill in a template later. */
const countMargin = 16

/** What is estimated is seldom longer than by this share, or by what a service puts around messages. */
const uncertainty = 0.5
const leastDoubt = 128

// Spec R-REQ-14.
/**
 * The same request with a lower cap, after a refusal that counted the cap. Undefined where no shorter reply would fit, or only one that
 * is too short to be useful: then the conversation has to be made shorter.
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
  // A room that was refused is not there.
  const isShorter = cap < maxTokens && cap >= usefulOf(run, plan.cap)
  return isShorter ? plan.withCap({ cap, isOfWindow: true }) : undefined
}

/** Where the service did not count the prompt: what is estimated to be left, or half of what was refused. 0 where the prompt alone is too long by all that is known. */
function likelyCap(limit: number, plan: RequestPlan, refused: number): number {
  const prompt = plan.promptEstimate()
  const room = roomBeside(limit, prompt)
  if (room >= leastRoom && room < refused) return room
  const mostRoom = limit - prompt.tokens + prompt.uncountedTokens * uncertainty
  return Math.floor(Math.min(refused / 2, mostRoom))
}

/** With less room than this by the estimate, the estimate is more likely wrong than the room is that small. */
const leastRoom = 2_048

/** Most times that one request is asked for again with a lower cap: once, where the refusal says what the prompt has. */
export const mostShorterReplies = 4

function usefulOf({ context }: Run, cap: number): number {
  return Math.min(cap, context.settings.minUsefulTokens)
}
