import type { JsonObject } from '@halting/core'
import type { Bill } from './billing-meter.ts'

/** A piece of a prompt, in the order in which the model reads it. */
export interface PromptPiece {
  /** What the tokenizer is given: words and names, without the frame of the format around them. */
  readonly text: string
  readonly frame: 'message' | 'block'
  /** The cache is written up to here. */
  readonly isBreakpoint: boolean
}

/** What a request asks for, whatever format it came in. */
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
  /** A search that the service made by itself: the call and what it found. */
  | { readonly type: 'search'; readonly id: string; readonly query: string; readonly found: string }

/**
 * What of the bill a stream tells: all, nothing, zeros, all but the prompt; what it came to so far with every piece, and
 * all at the end; only what it came to before the end; all, with the reason why the reply ended.
 */
export type UsageReporting = 'reported' | 'absent' | 'zero' | 'no_prompt' | 'running' | 'start_only' | 'with_reason'

export interface Reply {
  readonly id: string
  readonly model: string
  readonly blocks: readonly ReplyBlock[]
  readonly stop: 'end' | 'calls' | 'cut' | 'pause' | 'refusal'
  readonly bill: Bill
  readonly usage: UsageReporting
  /** Those of the reply's tokens that nobody is shown; and whether the format counts them beside the others. */
  readonly thoughtTokens: number
  readonly thoughtIsApart: boolean
  /** The prompt, and what was read again after each search: by pass, what `bill.input` holds with the caches. */
  readonly reads: readonly number[]
  /** What is told in place of the above, where another account of the bill is drawn: with the first report, and with the last. */
  readonly tell?: (place: 'start' | 'end') => JsonObject
}

/** A format that a service can speak. */
export interface Wire {
  readonly path: string
  read(body: JsonObject): Order
  /** The events of a whole reply, each as the bytes that go out at once. */
  events(reply: Reply): readonly string[]
  errorEvent(type: string): string
  error(type: string, message: string): JsonObject
  /** The texts of a reply's block, as the tokenizer will be given them when it is sent back: one for each wire block. */
  textsOf(block: ReplyBlock): readonly string[]
  /** Whether the service may search by itself. */
  readonly hasSearches: boolean
  /** Whether what is written to the cache may be kept for an hour. */
  readonly hasHourCache: boolean
}

/** Two pieces, never within a character. */
export function halves(text: string): readonly string[] {
  const characters = Array.from(text)
  const middle = Math.ceil(characters.length / 2)
  return [characters.slice(0, middle).join(''), characters.slice(middle).join('')]
}
