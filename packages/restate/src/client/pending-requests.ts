import type { QueuedMessage } from '@halting/core/session'
import { ConfigurationError } from '@halting/core'
import { whenIdle, type Opening, type SessionRequest } from '../service/messages.ts'
import type { ClusterClient } from './client.ts'

export interface PendingRequestsOptions {
  readonly client: ClusterClient
  readonly sessionId: string
  readonly opening: Opening | undefined
  /** Resolves when requests may be sent. */
  readonly ready: Promise<void>
  readonly onSent: () => void
  /** Whether this client has emitted the ending of the run. */
  readonly isEndReported: (runId: string) => boolean
  readonly onRefused: (error: unknown, givenBack: readonly QueuedMessage[]) => void
}

interface PendingRequest {
  readonly id: string
  readonly request: SessionRequest
  isSent: boolean
}

/** Requests of this client whose outcome it does not know yet. They are sent to the cluster in order. */
export class PendingRequests {
  readonly #options: PendingRequestsOptions
  /** Requests that begin or enter a run and have not done so yet. */
  readonly #open = new Map<string, PendingRequest>()
  #sending: Promise<void>

  constructor(options: PendingRequestsOptions) {
    this.#options = options
    this.#sending = options.ready
  }

  get messages(): readonly QueuedMessage[] {
    return [...this.#open.values()].flatMap((pending) => queuedMessages(pending))
  }

  get isAsking(): boolean {
    return this.#open.size > 0
  }

  /** Resolves when all requests have been sent. */
  sent(): Promise<void> {
    return this.#sending
  }

  send(request: SessionRequest, id: string): void {
    const pending: PendingRequest = { id, request, isSent: false }
    if (whenIdle(request) === 'begins') this.#open.set(id, pending)
    this.#sending = this.#sending.then(() => this.#sendOne(pending))
  }

  async #sendOne(pending: PendingRequest): Promise<void> {
    const { client, sessionId, opening, onSent } = this.#options
    const { id, request } = pending
    try {
      await client.request(sessionId, request, { id, ...(opening !== undefined && { opening }) })
      pending.isSent = true
    } catch (error) {
      this.#refuse(pending, error)
    }
    onSent()
  }

  #refuse(pending: PendingRequest, error: unknown): void {
    this.#open.delete(pending.id)
    this.#options.onRefused(error, queuedMessages(pending))
  }

  /** Removes messages that are in a run or were given back. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#open.delete(id)
  }

  /**
   * Called when no worker is at work: then every request has its outcome, or never will have one. A request that a run
   * answered stays pending until the ending of that run was emitted here.
   */
  async checkOutcomes(): Promise<void> {
    const { client, sessionId, isEndReported } = this.#options
    for (const pending of this.#open.values()) {
      if (!pending.isSent) continue
      const answer = await client.result(sessionId, pending.id)
      if (answer.state === 'refused') this.#refuse(pending, new ConfigurationError(answer.because))
      else if (answer.state === 'unknown') this.#open.delete(pending.id)
      else if (answer.state === 'answered' && isEndReported(answer.runId)) this.#open.delete(pending.id)
    }
  }
}

function queuedMessages({ id, request }: PendingRequest): readonly QueuedMessage[] {
  if (request.type !== 'prompt') return []
  return [{ id, content: request.content, when: request.when === 'later' ? 'later' : 'next' }]
}
