import type { MessageContent } from '@halting/core'
import { isUrgent, type NumberedRequest } from './messages.ts'
import type { PreparedPrompt, WorkerSession } from './session-options.ts'

export interface RequestsInOrderOptions {
  readonly prepare: WorkerSession['prepare']
  /** Messages that are in a run on record: they are not prepared again. */
  readonly onRecord: ReadonlySet<string>
  /** Handles a request. `prepared`: the content of a prompt that was prepared. */
  readonly hear: (request: NumberedRequest, prepared?: PreparedPrompt) => void
  readonly refuse: (request: NumberedRequest, error: unknown) => void
}

/**
 * Handles requests in order, although prompts have to be prepared first.
 * Q1: no request overtakes an earlier one.
 * Q2: a request that ends a run also ends the preparation of an earlier prompt, which is refused.
 */
export class RequestsInOrder {
  readonly #options: RequestsInOrderOptions
  readonly #queued: NumberedRequest[] = []
  #preparing: { readonly controller: AbortController; readonly over: Promise<void> } | undefined

  constructor(options: RequestsInOrderOptions) {
    this.#options = options
  }

  get isBusy(): boolean {
    return this.#preparing !== undefined
  }

  take(request: NumberedRequest): void {
    if (this.#preparing === undefined) return this.#next(request)
    this.#queued.push(request)
    if (isUrgent(request.request)) this.abort()
  }

  /** Aborts the current preparation. */
  abort(): void {
    this.#preparing?.controller.abort()
  }

  /** Resolves when no prompt is being prepared. */
  async over(): Promise<void> {
    while (this.#preparing !== undefined) await this.#preparing.over
  }

  #next(request: NumberedRequest): void {
    const { prepare, onRecord, hear } = this.#options
    if (prepare === undefined || request.request.type !== 'prompt' || onRecord.has(request.id)) return hear(request)
    const controller = new AbortController()
    this.#preparing = { controller, over: this.#prepare(prepare, request, request.request.content, controller.signal) }
  }

  async #prepare(
    prepare: NonNullable<WorkerSession['prepare']>,
    request: NumberedRequest,
    content: MessageContent,
    signal: AbortSignal,
  ): Promise<void> {
    const { hear, refuse } = this.#options
    try {
      const prepared = await prepare(content, signal)
      signal.throwIfAborted()
      this.#preparing = undefined
      hear(request, prepared)
    } catch (error) {
      this.#preparing = undefined
      refuse(request, signal.aborted ? new Error('It was retracted before a run took it.') : error)
    }
    while (!this.isBusy) {
      const next = this.#queued.shift()
      if (next === undefined) return
      this.#next(next)
    }
  }
}
