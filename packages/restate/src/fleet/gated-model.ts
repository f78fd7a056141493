import { randomUUID } from 'node:crypto'
import { ModelError, type Model, type ModelRequest } from '@halting/core'
import { modelFacts, sharedAbort, totalTokensOf } from '@halting/core/adapters'
import { engineClock } from '../http/engine-clock.ts'
import { gateObject, passService, type PassRequest } from './gate-service.ts'
import { renewMs, type GateLimits } from './gate.ts'
import { callHandler, type IngressOptions } from './ingress.ts'

/** Options of a gate that limits requests to a provider over all workers. */
export interface ProviderGateOptions {
  /** A session asks in one process at a time: what it had in the one that it has left is given up at once. */
  readonly isOneProcessASession?: boolean
  /** What the provider allows: set before the first request, for all who come to this gate. A limit that is left out is lifted. Without `limits` the gate lets in what it was set to. */
  readonly limits?: Partial<GateLimits>
}

/** So long it is tried to tell a gate that somebody has left. */
const leaveMs = 30_000
const never = sharedAbort().signal

function rejectablePromise(): { readonly promise: Promise<never>; readonly reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => {}
  const promise = new Promise<never>((_resolve, fail) => (reject = fail))
  return { promise, reject }
}

/** Names this process at every gate. */
const thisProcess = randomUUID()

/** A gate of the fleet as one worker passes it. Its requests are renewed as long as the process lives. */
export class ProviderGate {
  readonly #ingress: IngressOptions
  readonly #key: string
  readonly #options: ProviderGateOptions
  #limited: Promise<unknown> | undefined
  readonly #tickets = new Set<string>()
  #renewing: NodeJS.Timeout | undefined

  constructor(ingress: IngressOptions, key: string, options: ProviderGateOptions = {}) {
    this.#ingress = ingress
    this.#key = key
    this.#options = options
  }

  /** Waits until the session may ask; gives the way out, which is taken once. Rejects when it is aborted. */
  async enter(session: string, tokens: number, signal: AbortSignal): Promise<(tokens?: number) => void> {
    await this.#applyLimits(signal)
    for (;;) {
      const ticket = randomUUID()
      const by = this.#options.isOneProcessASession === true && { process: thisProcess, atMs: engineClock.now() }
      const request: PassRequest = { gate: this.#key, ticket, session, tokens, ...(by !== false && { by }) }
      this.#trackTicket(ticket)
      try {
        const isIn = await callHandler(this.#ingress, `${passService}/enter`, request, {
          signal,
          idempotencyKey: ticket,
        })
        if (isIn === true) return (used) => this.#leave(ticket, used)
      } catch (error) {
        this.#leave(ticket)
        throw error
      }
      // Nobody heard of this process for too long.
      this.#untrackTicket(ticket)
    }
  }

  /** Says once in this process what the provider allows. Who is aborted meanwhile waits no more; the others do. */
  async #applyLimits(signal: AbortSignal): Promise<void> {
    const { limits } = this.#options
    if (limits === undefined) return
    const path = `${gateObject}/${encodeURIComponent(this.#key)}/setLimits`
    this.#limited ??= callHandler(this.#ingress, path, limits, { signal: never }).catch((error: unknown) => {
      this.#limited = undefined
      throw error
    })
    const { promise: aborted, reject } = rejectablePromise()
    const giveUp = (): void => reject(signal.reason)
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
    await Promise.race([this.#limited, aborted]).finally(() => signal.removeEventListener('abort', giveUp))
  }

  #trackTicket(ticket: string): void {
    this.#tickets.add(ticket)
    this.#renewing ??= setInterval(() => this.#send('renew', [...this.#tickets]), renewMs).unref()
  }

  #untrackTicket(ticket: string): void {
    this.#tickets.delete(ticket)
    if (this.#tickets.size > 0) return
    clearInterval(this.#renewing)
    this.#renewing = undefined
  }

  #leave(ticket: string, tokens?: number): void {
    if (!this.#tickets.has(ticket)) return
    this.#untrackTicket(ticket)
    this.#send('leave', { ticket, ...(tokens !== undefined && { tokens }) })
  }

  /** What cannot be told in time is known by its silence. */
  #send(handler: 'leave' | 'renew', body: readonly string[] | { readonly ticket: string }): void {
    const path = `${gateObject}/${encodeURIComponent(this.#key)}/${handler}/send`
    callHandler(this.#ingress, path, body, {
      signal: AbortSignal.timeout(handler === 'renew' ? renewMs : leaveMs),
    }).catch(() => {})
  }
}

type MakeError = (init: ConstructorParameters<typeof ModelError>[0]) => Error

/**
 * The same model, which waits at a gate before each request. Waiting is no part of what a service may take to answer. `neverSent` makes the error of a request
 * that did not get past the gate: a program that has a core of its own knows only errors of that.
 */
export function gatedModel(
  model: Model,
  gate: ProviderGate,
  session: string,
  neverSent: MakeError = (init) => new ModelError(init),
): Model {
  return {
    ...modelFacts(model),
    async admit({ tokens, signal }) {
      const leave = await gate.enter(session, tokens, signal)
      const giveUp = (): void => {
        signal.removeEventListener('abort', giveUp)
        leave()
      }
      // Where the run ends before it asks, nobody else says so.
      signal.addEventListener('abort', giveUp, { once: true })
      return {
        call(request, options) {
          signal.removeEventListener('abort', giveUp)
          return callThenLeave(model, request, options, leave)
        },
        leave: giveUp,
      }
    },
    async call(request, options) {
      const leave = await gate
        .enter(session, estimateTokens(model, request), options.signal)
        .catch((error: unknown) => {
          throw neverSent(gateFailure(error))
        })
      return callThenLeave(model, request, options, leave)
    },
  }
}

type Call = Parameters<Model['call']>

async function callThenLeave(model: Model, request: Call[0], options: Call[1], leave: (tokens?: number) => void) {
  try {
    const reply = await model.call(request, options)
    const tokens = totalTokensOf(reply.message.usage)
    leave(Number.isFinite(tokens) ? tokens : undefined)
    return reply
  } catch (error) {
    leave()
    throw error
  }
}

/** What it may come to: four characters are a token, about. */
function estimateTokens({ contextWindow }: Model, { system, messages, tools, maxOutputTokens }: ModelRequest): number {
  const characters = system.length + JSON.stringify(messages).length + JSON.stringify(tools).length
  return Math.min(contextWindow, Math.ceil(characters / 4)) + maxOutputTokens
}

function gateFailure(error: unknown): ConstructorParameters<typeof ModelError>[0] {
  const message = `The request did not get past the gate of the fleet: ${error instanceof Error ? error.message : String(error)}`
  return { kind: 'connection', message, retryable: true, billed: 'nothing', neverConnected: true }
}
