import type { JsonObject } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { SessionRequest } from '../../src/service/messages.ts'
import { sessionObject } from '../../src/service/names.ts'
import type { FullStatus } from '../../src/service/full-status.ts'
import type { Cluster } from './server.ts'

/** A session as a client by HTTP has it. */
export class SessionOnCluster {
  readonly #cluster: Cluster
  readonly #path: string

  constructor(cluster: Cluster, id: string) {
    this.#cluster = cluster
    this.#path = `${sessionObject}/${id}`
  }

  async ask(id: string, request: SessionRequest, opening?: JsonObject): Promise<void> {
    await this.#cluster.call(`${this.#path}/request`, { id, request, ...(opening !== undefined && { opening }) })
  }

  async status(): Promise<FullStatus> {
    // The service gives it.
    return (await this.#cluster.call(`${this.#path}/status`)) as FullStatus
  }

  async records(): Promise<readonly StepRecord[]> {
    const all: StepRecord[] = []
    for (;;) {
      const page = (await this.#cluster.call(`${this.#path}/records`, all.length)) as {
        readonly records: readonly StepRecord[]
      }
      if (page.records.length === 0) return all
      all.push(...page.records)
    }
  }
}
