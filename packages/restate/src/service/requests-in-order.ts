import type { MessageContent } from '@halting/core'
import { isUrgent, type NumberedRequest } from './messages.ts'
import type { PreparedPrompt, WorkerSession } from './session-options.ts'

export interface RequestsInOrderOptions {
  readonly prepare: WorkerSession['prepare']
  /** Messages that are in a run on record: nothing of them is made ready again. */
  readonly onRecord: ReadonlySet<string>
  /** `prepared` is there for a prompt that was made ready. */
  readonly hear: (request: NumberedRequest, prepared?: PreparedPrompt) => void
  readonly refuse: (request: NumberedRequest, error: unknown) => void
}

/**
 * Requests in the order in which they came, where a prompt has to be made ready before it is heard.
 * Q1: nothing overtakes what came before. Q2: what ends a run ends what is made ready before it: that prompt is refused.
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

  /** What is made ready is not wanted any more. */
  abort(): void {
    this.#preparing?.controller.abort()
  }

  /** Resolves when nothing is made ready. */
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
      refuse(request, signal.aborted ? new Error('It was taken back before a run took it.') : error)
    }
    while (!this.isBusy) {
      const next = this.#queued.shift()
      if (next === undefined) return
      this.#next(next)
    }
  }
}
