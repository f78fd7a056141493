import type { AssistantMessage, Json, JsonObject } from '@halting/core'

/** The effect of an event on reading the stream: `more` carries content of the reply, `ping` does not. */
export type Progress =
  | { readonly kind: 'more' | 'ping' | 'end' }
  /** The first stop reason; only usage may follow. */
  | { readonly kind: 'last' }
  /** The service failed after it had started to respond. */
  | { readonly kind: 'error_event'; readonly error: Json | undefined }
  /** The stream violates the protocol: data was lost or duplicated. */
  | { readonly kind: 'violation'; readonly why: string }

export const more: Progress = { kind: 'more' }
export const ping: Progress = { kind: 'ping' }

/** Maximum number of calls and blocks in a reply: no model produces that many, and each is stored and emitted. */
export const maxCalls = 1_000
export const maxBlocks = 100_000
/** Maximum number of messages that may start in one stream; some services start two. */
export const maxStarts = 8

export function violation(why: string): Progress {
  return { kind: 'violation', why }
}

/** The result of a stream, however it ended. */
export type Assembled =
  | {
      readonly kind: 'complete'
      readonly message: AssistantMessage
      /** `unknown` if the service reported no usage, `nothing` if no model wrote the reply. */
      readonly billed?: 'unknown' | 'nothing'
    }
  /** The stream broke; `message` has the completed blocks. */
  | { readonly kind: 'partial'; readonly message: AssistantMessage }
  /** The stream broke before anything usable was completed. */
  | { readonly kind: 'nothing' }

/**
 * Converts the events of one response into a message. It uses neither network nor time, and emits updates to its
 * creator.
 */
export interface StreamReader {
  /** Reads the next event; `text` is its JSON. */
  take(event: JsonObject, text: string): Progress
  /** Reports that the service ended the stream (`[DONE]`). */
  end(): void
  /** Reads a response that is not streamed; false if this is not one. */
  takeWhole(answer: JsonObject): boolean
  /** Call this once, after the last event. */
  finish(): Assembled
}

/** Name of a call without a name: services require a name, and the model is then informed that no such tool exists. */
export const namelessTool = 'unknown_tool'
