import { randomUUID } from 'node:crypto'
import type { BudgetLease } from '@halting/core'
import { budgetObject, type LeaseRequest } from './budget-service.ts'
import { callHandler, type IngressOptions } from './ingress.ts'

/** So much more than it needs a session takes at once, so that not every request has to ask. What it does not spend goes back. */
const defaultChunkUsd = 0.05

export interface TenantLeaseOptions {
  readonly ingress: IngressOptions
  readonly tenant: string
  readonly session: string
  readonly began: string
  readonly turn: number
  /** What the session has on record that another one paid: it is a copy of that. */
  readonly inheritedNanos?: number
  readonly chunkUsd?: number | undefined
}

/** The share of one session in the budget of its tenant, in the process that works at it. What it has is with the engine: this asks. */
export class TenantLease implements BudgetLease {
  readonly name: string
  readonly #options: TenantLeaseOptions
  #nanos: number

  /** With what the session has of earlier processes. Rejects when it is aborted. */
  static async open(options: TenantLeaseOptions, signal: AbortSignal): Promise<TenantLease> {
    return new TenantLease(options, await raise(options, 0, signal))
  }

  private constructor(options: TenantLeaseOptions, nanos: number) {
    this.name = `the budget of ${options.tenant}`
    this.#options = options
    this.#nanos = nanos
  }

  get usd(): number {
    return (this.#nanos + (this.#options.inheritedNanos ?? 0)) / 1e9
  }

  async growTo(usd: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { chunkUsd = defaultChunkUsd, inheritedNanos = 0 } = this.#options
    const wanted = Math.min(Number.MAX_SAFE_INTEGER, Math.ceil((usd + chunkUsd) * 1e9) - inheritedNanos)
    const given = await raise(this.#options, Math.max(0, wanted), signal).catch((error: unknown) => {
      if (signal.aborted) return this.#nanos
      throw error
    })
    // Answers may come in another order than they were given in.
    this.#nanos = Math.max(this.#nanos, given)
  }
}

async function raise(
  { ingress, tenant, session, began, turn }: TenantLeaseOptions,
  nanos: number,
  signal: AbortSignal,
) {
  const request: LeaseRequest = { session, began, turn, nanos }
  // The handler gives a number.
  return (await callHandler(ingress, `${budgetObject}/${encodeURIComponent(tenant)}/raiseTo`, request, {
    signal,
    // A call whose answer is lost or late is not made anew: each would wait its turn at the tenant, and the turn of all gets later.
    idempotencyKey: randomUUID(),
  })) as number
}
