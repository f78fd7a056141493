import type { BudgetStatus } from '../../src/fleet/budget-service.ts'
import { budgetObject } from '../../src/fleet/budget-service.ts'
import type { WorkDone } from '../../src/service/session-object.ts'
import { sessionObject } from '../../src/service/names.ts'
import type { OutsideLog } from './outside.ts'
import type { Cluster } from './server.ts'

interface Tenant {
  readonly limitUsd: number
  readonly limitIsSet: Promise<unknown>
  readonly sessions: string[]
}

/** Sums of dollars consist of nano-dollars. */
const exactlyUsd = 5e-10

/** Tenants with a budget over many sessions, and figures of the engine's ledger and the services outside while everything runs. */
export class Tenants {
  readonly #cluster: Cluster
  readonly #outside: OutsideLog
  readonly #tenants = new Map<string, Tenant>()
  readonly #problems = new Set<string>()
  #looks = 0

  constructor(cluster: Cluster, outside: OutsideLog) {
    this.#cluster = cluster
    this.#outside = outside
  }

  /** A session that works within the budget of a tenant. The first limit counts. */
  async join(tenant: string, session: string, limitUsd: number): Promise<void> {
    const known = this.#tenants.get(tenant) ?? {
      limitUsd,
      limitIsSet: this.#cluster.call(`${budgetObject}/${tenant}/setLimit`, limitUsd),
      sessions: [],
    }
    this.#tenants.set(tenant, known)
    known.sessions.push(session)
    await known.limitIsSet
  }

  /** Reads every ledger at this moment. */
  async look(): Promise<void> {
    this.#outside.read()
    for (const [tenant, { limitUsd, limitIsSet, sessions }] of this.#tenants) {
      await limitIsSet
      const billedUsd = this.#billedUsd(sessions)
      const { leasedUsd } = await this.#status(tenant)
      this.#looks++
      if (leasedUsd > limitUsd + exactlyUsd)
        this.#problem(`${tenant} has ${limitUsd} USD, and ${leasedUsd} are leased.`)
      if (billedUsd > leasedUsd + exactlyUsd)
        this.#problem(`Of ${tenant} ${leasedUsd} USD are leased or spent, and ${billedUsd} were billed.`)
    }
  }

  /** Problems after all work has ended. */
  async problemsAtEnd(): Promise<readonly string[]> {
    await this.look()
    for (const [tenant, { sessions }] of this.#tenants) {
      const { leasedUsd, holders } = await this.#status(tenant)
      if (holders > 0) this.#problem(`${tenant} has ${holders} sessions that hold a lease, and none works.`)
      let nanos = 0
      for (const session of sessions) nanos += (await this.#done(session))?.committedNanos ?? 0
      if (nanos !== Math.round(leasedUsd * 1e9))
        this.#problem(`The sessions of ${tenant} have spent ${nanos} nano-dollars, and ${leasedUsd} USD are leased.`)
    }
    return [...this.#problems]
  }

  get summary(): string {
    const all = [...this.#tenants.values()]
    const limitUsd = all.reduce((sum, tenant) => sum + tenant.limitUsd, 0)
    const billedUsd = all.reduce((sum, { sessions }) => sum + this.#billedUsd(sessions), 0)
    return `${all.length} tenants, $${billedUsd.toFixed(2)} of $${limitUsd.toFixed(2)} billed, their ledgers read ${this.#looks} times`
  }

  #problem(problem: string): void {
    if (!this.#problems.has(problem)) console.error(problem)
    this.#problems.add(problem)
  }

  #billedUsd(sessions: readonly string[]): number {
    return sessions.reduce((sum, session) => sum + this.#outside.billedUsd(session), 0)
  }

  async #status(tenant: string): Promise<BudgetStatus> {
    // The handler returns it.
    return (await this.#cluster.call(`${budgetObject}/${tenant}/status`)) as BudgetStatus
  }

  async #done(session: string): Promise<WorkDone | null> {
    // The handler returns it.
    return (await this.#cluster.call(`${sessionObject}/${session}/done`)) as WorkDone | null
  }
}
