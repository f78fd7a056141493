import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/** A response that is written with backpressure, and abandoned when the client disconnects. */
export class ResponseWriter {
  readonly #response: ServerResponse
  readonly #isHead: boolean
  readonly #gone: AbortController = new AbortController()

  constructor(response: ServerResponse, isHead: boolean, headers: { readonly [name: string]: string }) {
    this.#response = response
    this.#isHead = isHead
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    response.once('close', () => this.#gone.abort())
    // A client that disconnects early is reported by `close`.
    response.on('error', () => undefined)
  }

  /** Aborted when the client has disconnected. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** Whether only the headers are requested. */
  get isHead(): boolean {
    return this.#isHead
  }

  get hasBegun(): boolean {
    return this.#response.headersSent
  }

  /** Sends a complete response. */
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

  /** Whether more can be written without waiting. */
  get takesMore(): boolean {
    return !this.#response.writableNeedDrain
  }

  /**
   * Resolves when the client is ready for more.
   * @throws AbortError when it has disconnected.
   */
  async write(text: string): Promise<void> {
    this.#gone.signal.throwIfAborted()
    if (!this.#response.write(text)) await once(this.#response, 'drain', { signal: this.#gone.signal })
  }

  end(): void {
    this.#response.end()
  }

  /** Destroys an incomplete response, so that the client notices. */
  breakOff(): void {
    this.#response.destroy()
  }
}
