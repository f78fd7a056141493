import type { Model } from '../model/model.ts'

/** Input tokens of a request from which on a conversation is made shorter, however large the window is. */
const defaultContextThreshold = 200_000

/** When conversations are compacted. */
export interface CompactionThreshold {
  /** In place of what follows from the window: tokens, or percent of what the window leaves beside a reply. */
  readonly compactAt?: number | `${number}%`
  /** The threshold that holds whatever the window; 200,000 when absent. */
  readonly contextThreshold?: number
}

/** Tokens of the window that input may have: what is left beside a reply. */
export function usableTokens(model: Model, contextWindow: number): number {
  const reply = Math.min(model.defaultOutputTokens ?? model.maxOutputTokens, 20_000)
  return contextWindow - Math.min(reply, contextWindow * 0.25)
}

/** A reply that is too short to be of use; the same as the least useful answer under a budget. */
const leastReply = 1_024

/** Tokens of the longest prompt that can be asked at all: beside it a short reply has room. */
export function mostPromptTokens(model: Model, contextWindow: number): number {
  return Math.max(usableTokens(model, contextWindow), contextWindow - leastReply)
}

/** Least tokens at which a conversation is compacted, whatever was asked for: below it nothing would be left to say. */
const leastThreshold = 1_000

/** Tokens of input from which on a conversation is compacted before the next request. */
export function compactionThresholdOf(
  model: Model,
  contextWindow: number,
  { compactAt, contextThreshold = defaultContextThreshold }: CompactionThreshold,
): number {
  const usable = usableTokens(model, contextWindow)
  const latest = usable - Math.min(13_000, contextWindow * 0.1)
  const wanted = compactAt === undefined ? Math.min(latest, contextThreshold) : wantedOf(compactAt, usable)
  return Math.max(leastThreshold, Math.floor(Math.min(wanted, latest)))
}

function wantedOf(compactAt: number | `${number}%`, usable: number): number {
  return typeof compactAt === 'number' ? compactAt : (usable * Number.parseFloat(compactAt)) / 100
}
