import type { AssistantMessage, Json, JsonObject } from '@halting/core'

/** What an event means for the reading of the stream: `more` was news of the reply, `ping` was none. */
export type Progress =
  | { readonly kind: 'more' | 'ping' | 'end' }
  /** Why the reply ended, for the first time: what may still come is its accounting. */
  | { readonly kind: 'last' }
  /** The service gave up after it had begun to answer. */
  | { readonly kind: 'error_event'; readonly error: Json | undefined }
  /** The stream is not what the protocol says: something was lost or came twice. */
  | { readonly kind: 'violation'; readonly why: string }

export const more: Progress = { kind: 'more' }
export const ping: Progress = { kind: 'ping' }

/** Most calls that a reply may have, and most blocks: no model writes so many, and each of them is kept and told. */
export const mostCalls = 1_000
export const mostBlocks = 100_000
/** Most messages that may begin in one stream: services are known to begin two. */
export const mostStarts = 8

export function violation(why: string): Progress {
  return { kind: 'violation', why }
}

/** What stands at the end of a stream, however it ended. */
export type Assembled =
  | {
      readonly kind: 'complete'
      readonly message: AssistantMessage
      /** `unknown` when the service told no usage, `nothing` when no model wrote it. */
      readonly billed?: 'unknown' | 'nothing'
    }
  /** The stream broke; `message` holds the completed blocks. */
  | { readonly kind: 'partial'; readonly message: AssistantMessage }
  /** The stream broke before anything was completed that can be kept. */
  | { readonly kind: 'nothing' }

/** Makes a message out of the events of one answer. Knows neither network nor time; tells updates to whom it was made for. */
export interface StreamReader {
  /** Takes the next event; `text` is the JSON it was read from. */
  take(event: JsonObject, text: string): Progress
  /** The service said that the stream is over (`[DONE]`). */
  end(): void
  /** Takes an answer that came whole, from a service that does not stream; false when it is none. */
  takeWhole(answer: JsonObject): boolean
  /** Call it once, after the last event. */
  finish(): Assembled
}

/** A call must have a name to be answered: no service takes one without. That there is no such tool is what the model is told. */
export const namelessTool = 'unknown_tool'
