import type { QueuedMessage } from '@halting/core/session'
import { ConfigurationError } from '@halting/core'
import { whenIdle, type Opening, type SessionRequest } from '../service/messages.ts'
import type { ClusterClient } from './client.ts'

export interface OwnRequestsOptions {
  readonly client: ClusterClient
  readonly sessionId: string
  readonly opening: Opening | undefined
  /** Nothing is sent before. */
  readonly ready: Promise<void>
  readonly onSent: () => void
  /** Whether the end of this run was told here. */
  readonly hasToldEnd: (runId: string) => boolean
  readonly onRefused: (error: unknown, givenBack: readonly QueuedMessage[]) => void
}

interface OwnRequest {
  readonly id: string
  readonly request: SessionRequest
  isSent: boolean
}

/** What this client has asked for, and has not heard the outcome of. It goes to the cluster in that order. */
export class OwnRequests {
  readonly #options: OwnRequestsOptions
  /** Those that begin or enter a run, until they have. */
  readonly #open = new Map<string, OwnRequest>()
  #sending: Promise<void>

  constructor(options: OwnRequestsOptions) {
    this.#options = options
    this.#sending = options.ready
  }

  get messages(): readonly QueuedMessage[] {
    return [...this.#open.values()].flatMap((own) => messageOf(own))
  }

  get isAsking(): boolean {
    return this.#open.size > 0
  }

  /** All that was asked for is with the cluster. */
  sent(): Promise<void> {
    return this.#sending
  }

  send(request: SessionRequest, id: string): void {
    const own: OwnRequest = { id, request, isSent: false }
    if (whenIdle(request) === 'begins') this.#open.set(id, own)
    this.#sending = this.#sending.then(() => this.#send(own))
  }

  async #send(own: OwnRequest): Promise<void> {
    const { client, sessionId, opening, onSent } = this.#options
    const { id, request } = own
    try {
      await client.request(sessionId, request, { id, ...(opening !== undefined && { opening }) })
      own.isSent = true
    } catch (error) {
      this.#refuse(own, error)
    }
    onSent()
  }

  #refuse(own: OwnRequest, error: unknown): void {
    this.#open.delete(own.id)
    this.#options.onRefused(error, messageOf(own))
  }

  /** Messages are in a run, or given back. */
  taken(ids: readonly string[]): void {
    for (const id of ids) this.#open.delete(id)
  }

  /** Nobody works at the session: what was asked for has its outcome, or had none. One that a run answered is open until that was told here. */
  async look(): Promise<void> {
    const { client, sessionId, hasToldEnd } = this.#options
    for (const own of this.#open.values()) {
      if (!own.isSent) continue
      const answer = await client.result(sessionId, own.id)
      if (answer.state === 'refused') this.#refuse(own, new ConfigurationError(answer.because))
      else if (answer.state === 'unknown') this.#open.delete(own.id)
      else if (answer.state === 'answered' && hasToldEnd(answer.runId)) this.#open.delete(own.id)
    }
  }
}

function messageOf({ id, request }: OwnRequest): readonly QueuedMessage[] {
  if (request.type !== 'prompt') return []
  return [{ id, content: request.content, when: request.when === 'later' ? 'later' : 'next' }]
}
