import { randomUUID } from 'node:crypto'
import { ModelError, type Model, type ModelRequest } from '@halting/core'
import { totalTokensOf } from '@halting/core/adapters'
import { gateObject, passService, type PassRequest } from './gate-service.ts'
import { ticketMs } from './gate.ts'
import { callHandler, type IngressOptions } from './ingress.ts'

/** A gate of the fleet as one worker passes it. Its requests are renewed as long as the process lives. */
export class ProviderGate {
  readonly #ingress: IngressOptions
  readonly #key: string
  readonly #tickets = new Set<string>()
  #renewing: NodeJS.Timeout | undefined

  constructor(ingress: IngressOptions, key: string) {
    this.#ingress = ingress
    this.#key = key
  }

  /** Waits until the session may ask; gives the way out, which is taken once. Rejects when it is aborted. */
  async enter(session: string, tokens: number, signal: AbortSignal): Promise<(tokens?: number) => void> {
    for (;;) {
      const ticket = randomUUID()
      const request: PassRequest = { gate: this.#key, ticket, session, tokens }
      this.#hold(ticket)
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
      this.#drop(ticket)
    }
  }

  #hold(ticket: string): void {
    this.#tickets.add(ticket)
    this.#renewing ??= setInterval(() => this.#tell('renew', [...this.#tickets]), ticketMs / 3).unref()
  }

  #drop(ticket: string): void {
    this.#tickets.delete(ticket)
    if (this.#tickets.size > 0) return
    clearInterval(this.#renewing)
    this.#renewing = undefined
  }

  #leave(ticket: string, tokens?: number): void {
    if (!this.#tickets.has(ticket)) return
    this.#drop(ticket)
    this.#tell('leave', { ticket, ...(tokens !== undefined && { tokens }) })
  }

  /** What cannot be told in time is known by its silence. */
  #tell(handler: 'leave' | 'renew', given: readonly string[] | { readonly ticket: string }): void {
    const path = `${gateObject}/${encodeURIComponent(this.#key)}/${handler}/send`
    callHandler(this.#ingress, path, given, { signal: AbortSignal.timeout(ticketMs) }).catch(() => {})
  }
}

/** The same model, which waits at a gate before each request. Waiting is no part of what a service may take to answer. */
export function gatedModel(model: Model, gate: ProviderGate, session: string): Model {
  const { id, contextWindow, maxOutputTokens, defaultOutputTokens, maxServerToolUses, extraPasses, maxImageTokens } =
    model
  return {
    id,
    contextWindow,
    maxOutputTokens,
    ...(defaultOutputTokens !== undefined && { defaultOutputTokens }),
    ...(maxServerToolUses !== undefined && { maxServerToolUses }),
    ...(extraPasses !== undefined && { extraPasses }),
    ...(maxImageTokens !== undefined && { maxImageTokens }),
    async admit({ tokens, signal }) {
      const leave = await gate.enter(session, tokens, signal)
      const giveUp = (): void => leave()
      // Where the run ends before it asks, nobody else says so.
      signal.addEventListener('abort', giveUp, { once: true })
      return {
        call(request, options) {
          signal.removeEventListener('abort', giveUp)
          return asked(model, request, options, leave)
        },
        leave: giveUp,
      }
    },
    async call(request, options) {
      const leave = await gate.enter(session, tokensOf(model, request), options.signal).catch((error: unknown) => {
        throw neverSent(error)
      })
      return asked(model, request, options, leave)
    },
  }
}

type Call = Parameters<Model['call']>

async function asked(model: Model, request: Call[0], options: Call[1], leave: (tokens?: number) => void) {
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
function tokensOf({ contextWindow }: Model, { system, messages, tools, maxTokens }: ModelRequest): number {
  const characters = system.length + JSON.stringify(messages).length + JSON.stringify(tools).length
  return Math.min(contextWindow, Math.ceil(characters / 4)) + maxTokens
}

function neverSent(error: unknown): ModelError {
  const message = `The request did not get past the gate of the fleet: ${error instanceof Error ? error.message : String(error)}`
  return new ModelError({ kind: 'connection', message, retryable: true, billed: 'nothing', neverConnected: true })
}
