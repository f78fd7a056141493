import type { Model } from '../model/model.ts'

/** Number of input tokens of a request at which a conversation is compacted, however large the window is. */
const defaultContextThreshold = 200_000

/** When conversations are compacted. */
export interface CompactionThreshold {
  /** Replaces the value that is derived from the window: tokens, or percent of the window without the reply. */
  readonly compactAt?: number | `${number}%`
  /** Upper bound of the threshold for any window (default: 200,000). */
  readonly contextThreshold?: number
}

/** Tokens of the window that are available for input: the rest is for the reply. */
export function usableTokens(model: Model, contextWindow: number): number {
  const reply = Math.min(model.defaultOutputTokens ?? model.maxOutputTokens, 20_000)
  return contextWindow - Math.min(reply, contextWindow * 0.25)
}

/** A shorter reply is useless. Equal to the smallest useful answer under a budget. */
const minReplyTokens = 1_024

/** Tokens of the longest possible prompt: it leaves room for a short reply. */
export function maxPromptTokens(model: Model, contextWindow: number): number {
  return Math.max(usableTokens(model, contextWindow), contextWindow - minReplyTokens)
}

/** Minimum threshold, regardless of the configuration: a lower one would leave nothing useful. */
const minThreshold = 1_000

/** Number of input tokens at which a conversation is compacted before the next request. */
export function compactionThresholdOf(
  model: Model,
  contextWindow: number,
  { compactAt, contextThreshold = defaultContextThreshold }: CompactionThreshold,
): number {
  const available = usableTokens(model, contextWindow)
  const latest = available - Math.min(13_000, contextWindow * 0.1)
  const requested =
    compactAt === undefined ? Math.min(latest, contextThreshold) : requestedThreshold(compactAt, available)
  return Math.max(minThreshold, Math.floor(Math.min(requested, latest)))
}

function requestedThreshold(compactAt: number | `${number}%`, available: number): number {
  return typeof compactAt === 'number' ? compactAt : (available * Number.parseFloat(compactAt)) / 100
}
