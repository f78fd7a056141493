import type { ContentBlock, JsonObject, Usage } from '@halting/core'

/**
 * A predefined conversation: the replies of a model service, in the order of the requests.
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
 * The n-th accepted request receives the n-th reply, whatever its content; retries count as requests. A reply with
 * `when` is reserved for a request that contains its text.
 * When no reply is left, the service answers with a 400 that says so. docs/guide/scripts.md describes every field.
 */
export interface Script {
  /** Id for pricing and reports (default: `scripted`, which has no price). */
  readonly model?: string
  /**
   * Context window in tokens, as the service estimates them. A larger request is rejected with 400 `prompt is too long:
   * N tokens > M maximum`, and consumes no reply. No limit by default.
   */
  readonly contextWindow?: number
  /** Tokens that the service counts per four characters, at most 4 (default: 1). A client may estimate differently. */
  readonly tokenFactor?: number
  /**
   * The service supports web search, so `WebSearch` is available. A search is a separate request. Its reply contains
   * the blocks of the service (`server_tool_use`, `web_search_tool_result`), and `server_tool_use` in its usage for the
   * fee.
   */
  readonly webSearch?: boolean
  /** The replies, in order. */
  readonly replies: readonly ScriptedReply[]
}

/** One reply of a script: a message, an error, or an outage of the service. */
export type ScriptedReply = ScriptedMessage | ScriptedError | ScriptedOutage

interface Reply {
  /**
   * Out of order: for the next request whose last user message contains this text. Useful for requests outside of
   * turns, such as summaries, which may come at any time.
   */
  readonly when?: string
  /** Text that the last user message must contain, including tool results; otherwise a 400 reports the difference. */
  readonly expect?: string
  /** Number of consecutive requests that get this reply (default: 1). */
  readonly repeat?: number
  /** Delay before the response starts, in milliseconds. */
  readonly delay_ms?: number
}

/** A message of the model, streamed like the Messages API does. */
export interface ScriptedMessage extends Reply {
  /** Texts and blocks in order, or a single text. */
  readonly content: string | readonly (string | ScriptedBlock)[]
  /**
   * Stop reason (default: `tool_use` if the content has a tool call, otherwise `end_turn`). A truncated reply always has
   * `max_tokens`.
   */
  readonly stop_reason?: string
  /** The sequence at which the model stopped (default: none). */
  readonly stop_sequence?: string
  /**
   * Usage (default: a quarter of the characters of request and content, times `tokenFactor`). Output above the
   * request's `max_tokens` is cut; input above the request's size in bytes is rejected.
   */
  readonly usage?: Partial<Usage>
  /** Delay between two events in milliseconds. */
  readonly pace_ms?: number
  /** The fault to inject. */
  readonly fault?: ScriptedFault
}

/** `id` and `signature` are generated if missing; any other block of the API is sent unchanged. */
export type ScriptedBlock =
  | {
      readonly type: 'tool_use'
      /** Name of the tool. */
      readonly name: string
      /** Input of the call (default: `{}`). */
      readonly input?: unknown
      /** Id of the call (default: generated). */
      readonly id?: string
    }
  | {
      readonly type: 'thinking'
      /** Text of the reasoning. */
      readonly thinking: string
      /** Signature of the reasoning (default: generated). */
      readonly signature?: string
    }
  | ContentBlock

/** An error instead of a reply. */
export interface ScriptedError extends Reply {
  /** The error. */
  readonly error: {
    /** HTTP status. */
    readonly status: number
    /** Error type (default: the API's name for the status). */
    readonly type?: string
    /** Error message (default: one for the status). */
    readonly message?: string
    /** Additional response headers. */
    readonly headers?: Readonly<Record<string, string>>
    /** Additional fields of the error in the body, such as `resets_in_seconds`. */
    readonly fields?: JsonObject
    /**
     * How long all requests get this error, in milliseconds from the first one, as with a rate limit (default: only
     * that request). Texts in `message`, `headers` and `fields` may use `{{seconds_left}}` (rounded up), and
     * `{{ends_at}}` (RFC 3339), `{{ends_at_unix}}` (seconds) or `{{ends_at_unix_ms}}` for its end.
     */
    readonly for_ms?: number
  }
}

/** An outage: the connection is interrupted, and nothing listens at the address for a while. */
export interface ScriptedOutage extends Reply {
  /** Duration in milliseconds. */
  readonly outage_ms: number
}

/** A fault of the scripted service: it drops the connection, stays silent, or ends the stream with an error. */
export interface ScriptedFault {
  /** The kind of fault: cut the connection, stay silent, or end the stream with an `event: error`. */
  readonly kind: 'drop' | 'hang' | 'error'
  /**
   * Where the fault happens: before the response starts, after `message_start`, inside a block, after a block, or
   * after everything but `message_stop`.
   */
  readonly at: 'request' | 'start' | 'within' | 'after' | 'end'
  /** Block for `within` and `after` (default: 0). */
  readonly block?: number
  /** Type of the `event: error` (default: `overloaded_error`). */
  readonly type?: string
  /** Message of the `event: error`. */
  readonly message?: string
}
