import type { JsonObject } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { SessionRequest } from '../../src/service/messages.ts'
import { sessionObject } from '../../src/service/names.ts'
import type { FullStatus } from '../../src/service/full-status.ts'
import type { Cluster } from './server.ts'

/** A session as a client over HTTP has it. */
export class SessionOnCluster {
  readonly #cluster: Cluster
  readonly #id: string
  readonly #path: string

  constructor(cluster: Cluster, id: string) {
    this.#cluster = cluster
    this.#id = id
    this.#path = `${sessionObject}/${id}`
  }

  async ask(id: string, request: SessionRequest, opening?: JsonObject): Promise<void> {
    await this.#cluster.call(`${this.#path}/request`, { id, request, ...(opening !== undefined && { opening }) })
  }

  async status(): Promise<FullStatus> {
    // The service returns it.
    return (await this.#cluster.call(`${this.#path}/status`)) as FullStatus
  }

  /** Does what `halting sessions release` does for a session that is set aside. Its work may rest although it was released before. */
  async release(): Promise<void> {
    await this.#cluster.call(`halting_attempts/${this.#id}/release`)
    const resting = `select id from sys_invocation where target_service_name = '${sessionObject}' and target_service_key = '${this.#id}' and target_handler_name = 'work' and status in ('paused', 'backing-off')`
    for (const { id } of await this.#cluster.query(resting))
      await fetch(`${this.#cluster.admin()}/invocations/${String(id)}/resume`, { method: 'PATCH' })
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
