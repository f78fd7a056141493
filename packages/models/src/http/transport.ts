/** One request, as it goes out. */
export interface HttpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent by POST, as one buffer that is lent until the answer is let go; without it the request is a GET. */
  readonly body?: Uint8Array
}

export interface AnswerHeaders {
  /** One that stands there twice is a list; null when there is none. */
  get(name: string): string | null
}

/**
 * An answer that has begun.
 *
 * A1: a body that does not come whole rejects. It never ends as if it had.
 * A2: what came before it broke is given first.
 */
export interface HttpAnswer {
  readonly status: number
  readonly headers: AnswerHeaders
  /** What came next of the body, undefined at its end. One is asked for at a time. */
  next(): Promise<Uint8Array | undefined>
  /** Whether the request has gone out as a whole: a service may answer before it has read it. */
  isSent(): boolean
  /** Nobody reads on: the connection is closed, and a `next()` that waits ends in whatever way. */
  cancel(): void
}

/** Sends a request; resolves when the answer begins. It has no limit in time but the one for connecting. */
export type Transport = (request: HttpRequest, signal: AbortSignal) => Promise<HttpAnswer>
