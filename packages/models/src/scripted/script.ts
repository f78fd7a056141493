import type { ContentBlock, JsonObject, Usage } from '@halting/core'

/**
 * A conversation written down beforehand: what a model service is to answer, request after request.
 *
 * ```json
 * {
 *   "model": "claude-sonnet-5-5",
 *   "replies": [
 *     { "content": ["I will look.", { "type": "tool_use", "name": "Read", "input": { "file_path": "a.txt" } }] },
 *     { "expect": "hello", "content": "It says hello." }
 *   ]
 * }
 * ```
 *
 * The n-th request that fits gets the n-th reply, whatever it asks, retries too; but a reply with `when` is kept for a request that says so.
 * When none is left, the answer is a 400 that says so. docs/guide/scripts.md describes every field.
 */
export interface Script {
  /** By which id the scripted model is priced and reported; `scripted`, which has no price, when absent. */
  readonly model?: string
  /**
   * Most tokens that a request may have, as the service estimates it. A larger one is refused with 400
   * `prompt is too long: N tokens > M maximum`, and uses up no reply. No limit when absent.
   */
  readonly contextWindow?: number
  /** How many tokens the service counts for four characters, up to 4; 1 when absent. A client may estimate otherwise. */
  readonly tokenFactor?: number
  /**
   * The service can search the web: `WebSearch` is offered. A search is a request of its own; a reply to it holds the blocks that
   * the service would send (`server_tool_use`, `web_search_tool_result`), and `server_tool_use` in its usage for the fee.
   */
  readonly webSearch?: boolean
  /** The replies, in order. */
  readonly replies: readonly ScriptedReply[]
}

/** One reply of a script: a message, an error of the service, or an outage of it. */
export type ScriptedReply = ScriptedMessage | ScriptedError | ScriptedOutage

interface Reply {
  /**
   * Out of order: for the next request whose last user message holds this text. For a request that no turn makes, such as one for a summary,
   * which may come at any time.
   */
  readonly when?: string
  /** What the last user message must contain, tool results included; else a 400 says what was there instead. */
  readonly expect?: string
  /** So many requests in a row get this reply; 1 when absent. */
  readonly repeat?: number
  /** Milliseconds before the answer begins. */
  readonly delay_ms?: number
}

/** A message of the model, streamed as the Messages API does. */
export interface ScriptedMessage extends Reply {
  /** Texts and blocks, in order; a single text may stand alone. */
  readonly content: string | readonly (string | ScriptedBlock)[]
  /** `tool_use` when the content asks for a tool, else `end_turn`; `max_tokens` in any case where the reply is cut. */
  readonly stop_reason?: string
  /** The sequence at which the model stopped. Default: none. */
  readonly stop_sequence?: string
  /**
   * Input is a quarter of the request's characters and output a quarter of the content's, times `tokenFactor`, where
   * nothing is said. Output beyond the request's `max_tokens` is cut there; more input than the request has bytes is refused.
   */
  readonly usage?: Partial<Usage>
  /** Milliseconds between two events. */
  readonly pace_ms?: number
  /** What goes wrong on the way. */
  readonly fault?: ScriptedFault
}

/** `id` and `signature` are made up when absent; any other block of the API is sent as it stands. */
export type ScriptedBlock =
  | {
      readonly type: 'tool_use'
      /** Name of the tool. */
      readonly name: string
      /** Input of the call. Default: `{}`. */
      readonly input?: unknown
      /** Id of the call. Default: made up. */
      readonly id?: string
    }
  | {
      readonly type: 'thinking'
      /** The reasoning as text. */
      readonly thinking: string
      /** Signature of the reasoning. Default: made up. */
      readonly signature?: string
    }
  | ContentBlock

/** An error in place of an answer. */
export interface ScriptedError extends Reply {
  /** The error. */
  readonly error: {
    /** HTTP status. */
    readonly status: number
    /** The API's name for the status when absent. */
    readonly type?: string
    /** Message of the error. Default: one for the status. */
    readonly message?: string
    /** Further headers of the answer. */
    readonly headers?: Readonly<Record<string, string>>
    /** Further fields of the error in the body, such as `resets_in_seconds`. */
    readonly fields?: JsonObject
    /**
     * Milliseconds from the first request with this error, in which every request gets it, as with a rate limit; that request
     * alone when absent. In the texts of `message`, `headers` and `fields` what is left of them stands for `{{seconds_left}}`
     * (rounded up), and their end for `{{ends_at}}` (RFC 3339), `{{ends_at_unix}}` (seconds) and `{{ends_at_unix_ms}}`.
     */
    readonly for_ms?: number
  }
}

/** An outage of the service: the connection of the request is cut, and for so long nothing listens at the address. */
export interface ScriptedOutage extends Reply {
  /** In milliseconds. */
  readonly outage_ms: number
}

/** A fault of the scripted service: it drops the connection, stays silent, or ends the stream with an error. */
export interface ScriptedFault {
  /** The connection is cut, is left silent, or an `event: error` comes and ends it. */
  readonly kind: 'drop' | 'hang' | 'error'
  /**
   * Before the answer begins, after `message_start`, in the middle of a block, after a block, or when all was sent but
   * `message_stop`.
   */
  readonly at: 'request' | 'start' | 'within' | 'after' | 'end'
  /** Which block is meant by `within` and `after`; 0 when absent. */
  readonly block?: number
  /** Of the `event: error`; `overloaded_error` when absent. */
  readonly type?: string
  /** Message of the `event: error`. */
  readonly message?: string
}
