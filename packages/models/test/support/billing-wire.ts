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

export interface Reply {
  readonly id: string
  readonly model: string
  readonly blocks: readonly ReplyBlock[]
  readonly stop: 'end' | 'calls' | 'cut' | 'pause' | 'refusal'
  readonly bill: Bill
  /** What of the bill the stream tells: all, nothing, zeros, or only what is known when it begins. */
  readonly usage: 'told' | 'absent' | 'zero' | 'start_only'
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
}
