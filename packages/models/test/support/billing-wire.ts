import type { JsonObject } from '@halting/core'
import type { Bill } from './billing-meter.ts'

/** A piece of a prompt, in the order in which the model reads it. */
export interface PromptPiece {
  /** The input of the tokenizer: words and names, without the syntax of the format around them. */
  readonly text: string
  readonly frame: 'message' | 'block'
  /** The cache is written up to here. */
  readonly isBreakpoint: boolean
}

/** The request, independent of its format. */
export interface Order {
  readonly model: string
  readonly maxTokens: number
  /** Names of the tools that the reply may call. */
  readonly tools: readonly string[]
  readonly pieces: readonly PromptPiece[]
}

export type ReplyBlock =
  | { readonly type: 'text' | 'thinking'; readonly text: string }
  | { readonly type: 'call'; readonly id: string; readonly name: string; readonly input: JsonObject }
  /** A search of the service itself: the call and its result. */
  | { readonly type: 'search'; readonly id: string; readonly query: string; readonly found: string }

/**
 * The part of the bill that a stream reports. `no_prompt`: all but the prompt. `running`: the count so far with every
 * piece, and all at the end. `start_only`: only the count so far. `with_reason`: all, in the chunk with the finish
 * reason.
 */
export type UsageReporting = 'reported' | 'absent' | 'zero' | 'no_prompt' | 'running' | 'start_only' | 'with_reason'

export interface Reply {
  readonly id: string
  readonly model: string
  readonly blocks: readonly ReplyBlock[]
  readonly stop: 'end' | 'calls' | 'cut' | 'pause' | 'refusal'
  readonly bill: Bill
  readonly usage: UsageReporting
  /** The hidden tokens of the reply, and whether the format counts them separately. */
  readonly thoughtTokens: number
  readonly thoughtIsApart: boolean
  /**
   * The prompt, and the tokens that each search caused to be read again: per pass, the sum of `bill.input` and the
   * caches.
   */
  readonly reads: readonly number[]
  /** Replaces these reports if the account is random: the first report, and the last one. */
  readonly tell?: (place: 'start' | 'end') => JsonObject
}

/** A format that a service supports. */
export interface Wire {
  readonly path: string
  read(body: JsonObject): Order
  /** The events of a complete reply. Each has the bytes that are sent at once. */
  events(reply: Reply): readonly string[]
  errorEvent(type: string): string
  error(type: string, message: string): JsonObject
  /** The texts of a reply block as the tokenizer gets them when it is sent back, one per wire block. */
  textsOf(block: ReplyBlock): readonly string[]
  /** Whether the service may search by itself. */
  readonly hasSearches: boolean
  /** Whether a cache write may last for an hour. */
  readonly hasHourCache: boolean
}

/** Splits a text into two pieces, never within a character. */
export function halves(text: string): readonly string[] {
  const characters = Array.from(text)
  const middle = Math.ceil(characters.length / 2)
  return [characters.slice(0, middle).join(''), characters.slice(middle).join('')]
}
