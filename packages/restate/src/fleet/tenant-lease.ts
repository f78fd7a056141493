import type { BudgetLease } from '@halting/core'
import type { LeaseDesk } from './lease-desk.ts'

/** So much more than it needs a session takes at once, so that not every request has to ask. What it does not spend goes back. */
const defaultChunkUsd = 0.05

export interface TenantLeaseOptions {
  readonly desk: LeaseDesk
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
    this.name = `the budget of ${options.desk.tenant}`
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

function raise(
  { desk, session, began, turn }: TenantLeaseOptions,
  nanos: number,
  signal: AbortSignal,
): Promise<number> {
  return desk.raise({ session, began, turn, nanos }, signal)
}
