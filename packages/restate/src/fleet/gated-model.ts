import { randomUUID } from 'node:crypto'
import { ModelError, type Model, type ModelRequest } from '@halting/core'
import { modelFacts, sharedAbort, totalTokensOf } from '@halting/core/adapters'
import { engineClock } from '../http/engine-clock.ts'
import { gateObject, passService, type PassRequest } from './gate-service.ts'
import { renewMs, type GateLimits } from './gate.ts'
import { callHandler, type IngressOptions } from './ingress.ts'

/** Options of a gate that limits requests to a provider over all workers. */
export interface ProviderGateOptions {
  /** Whether a session sends requests in one process at a time. Its tickets in a process that it has left are then dropped at once. */
  readonly isOneProcessASession?: boolean
  /** What the provider allows: set before the first request, for everyone at this gate. An omitted limit is lifted. Without `limits` the gate keeps its current limits. */
  readonly limits?: Partial<GateLimits>
}

/** How long the client tries to report that a request has left the gate. */
const leaveMs = 30_000
const never = sharedAbort().signal

function rejectablePromise(): { readonly promise: Promise<never>; readonly reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => {}
  const promise = new Promise<never>((_resolve, fail) => (reject = fail))
  return { promise, reject }
}

/** Id of this process at every gate. */
const thisProcess = randomUUID()

/** A gate of the fleet, as one worker uses it. Its tickets are renewed for as long as the process lives. */
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

  /** Waits until the session may send a request. Returns the function that leaves the gate, which has an effect once. Rejects when it is aborted. */
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
      // The gate received no renewal from this process for too long.
      this.#untrackTicket(ticket)
    }
  }

  /** Sets the limits of the provider once per process. A caller that is aborted meanwhile stops waiting; the others do not. */
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

  /** A call that cannot be delivered in time is noticed by the missing renewal. */
  #send(handler: 'leave' | 'renew', body: readonly string[] | { readonly ticket: string }): void {
    const path = `${gateObject}/${encodeURIComponent(this.#key)}/${handler}/send`
    callHandler(this.#ingress, path, body, {
      signal: AbortSignal.timeout(handler === 'renew' ? renewMs : leaveMs),
    }).catch(() => {})
  }
}

type MakeError = (init: ConstructorParameters<typeof ModelError>[0]) => Error

/**
 * Returns a model that waits at a gate before each request. The wait does not count as the service's time to answer. `neverSent` creates the error of a request that did not pass
 * the gate: a program with its own copy of core recognizes only errors of that copy.
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
      // If the run ends before it sends the request, this listener leaves the gate, because no other code does.
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

/** Estimate of the tokens of a request: about four characters each. */
function estimateTokens({ contextWindow }: Model, { system, messages, tools, maxOutputTokens }: ModelRequest): number {
  const characters = system.length + JSON.stringify(messages).length + JSON.stringify(tools).length
  return Math.min(contextWindow, Math.ceil(characters / 4)) + maxOutputTokens
}

function gateFailure(error: unknown): ConstructorParameters<typeof ModelError>[0] {
  const message = `The request did not pass the gate of the fleet: ${error instanceof Error ? error.message : String(error)}`
  return { kind: 'connection', message, retryable: true, billed: 'nothing', neverConnected: true }
}
