/** One request as it is sent. */
export interface HttpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent by POST. The buffer is lent until the response is released; without a body the request is a GET. */
  readonly body?: Uint8Array
}

export interface AnswerHeaders {
  /** Returns the value of a header, a list if it occurs several times, null if it is missing. */
  get(name: string): string | null
}

/**
 * A response that has started.
 *
 * A1: an incomplete body rejects; it never ends as if it were complete.
 * A2: data received before a failure is returned first.
 */
export interface HttpAnswer {
  readonly status: number
  readonly headers: AnswerHeaders
  /** Returns the next chunk of the body; undefined at its end. Call it again only after it has settled. */
  next(): Promise<Uint8Array | undefined>
  /** Whether the whole request was sent: a service may respond before it has read everything. */
  isSent(): boolean
  /** Closes the connection; a pending `next()` settles in any way. */
  cancel(): void
}

/** Sends a request; resolves when the response starts. Only connecting has a time limit. */
export type Transport = (request: HttpRequest, signal: AbortSignal) => Promise<HttpAnswer>
