import { createHash } from 'node:crypto'
import type { GateLimits, gatedModel as GatedModel, IngressOptions, ProviderGate as Gate } from '@halting/restate'
import { type Model, ModelError } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import type { ModelAccount } from '@halting/agent/session-settings'

interface GateFactories {
  readonly ProviderGate: typeof Gate
  readonly gatedModel: typeof GatedModel
}

/** Rate limits of requests to models: one gate per provider key, shared by all workers of the cluster. */
export class Gates {
  readonly #makers: GateFactories
  readonly #ingress: IngressOptions
  readonly #limits: GateLimits
  readonly #gates = new Map<string, Gate>()

  constructor(makers: GateFactories, ingress: IngressOptions, limits: GateLimits) {
    this.#makers = makers
    this.#ingress = ingress
    this.#limits = limits
  }

  /** Wraps a model so that its requests for this session wait for the gate of its key. */
  throughGate(model: Model, account: ModelAccount, sessionId: string): Model {
    const name = gateName(account)
    const { ProviderGate, gatedModel } = this.#makers
    const gate =
      this.#gates.get(name) ??
      new ProviderGate(this.#ingress, name, { limits: this.#limits, isOneProcessASession: true })
    this.#gates.set(name, gate)
    return gatedModel(model, gate, sessionId, (init) => new ModelError(init))
  }
}

/** Limits from the flags; undefined if no flag limits requests. */
export function gateLimits({
  maxConcurrentRequests,
  requestsPerMinute,
  tokensPerMinute,
}: Flags): GateLimits | undefined {
  const limits: GateLimits = {
    requests: maxConcurrentRequests ?? null,
    requestsPerMinute: requestsPerMinute ?? null,
    tokensPerMinute: tokensPerMinute ?? null,
  }
  return Object.values(limits).every((limit) => limit === null) ? undefined : limits
}

/** Workers with the same key use the same gate. The name is a hash, so it reveals nothing about the key. */
export function gateName({ service, secret }: ModelAccount): string {
  const hash = createHash('sha256').update(`halting gate\n${service}\n${secret}`).digest('hex')
  return `${service}-${hash.slice(0, 16)}`
}
