import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/** An answer that is being written. What it writes waits for its reader, and is given up when that is gone. */
export class Answer {
  readonly #response: ServerResponse
  readonly #isHead: boolean
  readonly #gone: AbortController = new AbortController()

  constructor(response: ServerResponse, isHead: boolean, headers: { readonly [name: string]: string }) {
    this.#response = response
    this.#isHead = isHead
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    response.once('close', () => this.#gone.abort())
    // A reader that goes in the middle: `close` tells of it.
    response.on('error', () => undefined)
  }

  /** Aborted when nobody reads it any more. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** Nothing but the head is wanted. */
  get isHead(): boolean {
    return this.#isHead
  }

  get hasBegun(): boolean {
    return this.#response.headersSent
  }

  /** A whole answer. */
  send(type: string, text: string, status = 200): void {
    if (this.#gone.signal.aborted) return
    const bytes = Buffer.from(text)
    this.#response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'content-length': bytes.length })
    this.#response.end(this.#isHead ? undefined : bytes)
  }

  fail(status: number, error: string, headers: { readonly [name: string]: string } = {}): void {
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value)
    this.send('application/json', JSON.stringify({ error }), status)
  }

  begin(type: string, headers: { readonly [name: string]: string } = {}): void {
    this.#response.writeHead(200, { 'content-type': `${type}; charset=utf-8`, ...headers })
    this.#response.flushHeaders()
  }

  /** Whether the reader takes more at once. */
  get takesMore(): boolean {
    return !this.#response.writableNeedDrain
  }

  /** Resolves once the reader takes more. @throws AbortError when it is gone. */
  async write(text: string): Promise<void> {
    this.#gone.signal.throwIfAborted()
    if (!this.#response.write(text)) await once(this.#response, 'drain', { signal: this.#gone.signal })
  }

  end(): void {
    this.#response.end()
  }

  /** Breaks off what was begun: the reader sees that it is not whole. */
  breakOff(): void {
    this.#response.destroy()
  }
}
