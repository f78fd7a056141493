import { randomUUID } from 'node:crypto'
import { budgetObject, mostLeasesAtOnce, type LeaseRequest } from './budget-service.ts'
import { callHandler, type IngressOptions } from './ingress.ts'

interface Asker {
  readonly request: LeaseRequest
  readonly resolve: (nanos: number) => void
  readonly reject: (error: unknown) => void
}

/**
 * Where the sessions of this process ask for the money of one tenant: one call at a time, with all that was asked for meanwhile. The engine takes the calls to a
 * tenant one after another, and each waits for several durable writes: with a call for each session they would wait longer the more there are.
 */
export class LeaseDesk {
  readonly tenant: string
  readonly #ingress: IngressOptions
  #askers: readonly Asker[] = []
  #isAsking = false
  /** Who waits for the call that is under way. */
  #heard = new Set<Asker>()
  #call = new AbortController()

  constructor(ingress: IngressOptions, tenant: string) {
    this.#ingress = ingress
    this.tenant = tenant
  }

  /** Gives what the session may have spent in all, in nano-dollars. Rejects when it is aborted. @throws HaltingError `driver` for what the engine refuses. */
  raise(request: LeaseRequest, signal: AbortSignal): Promise<number> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#askers = this.#askers.filter((each) => each !== asker)
        this.#left(asker)
        // What aborts it says why.
        reject(signal.reason as Error)
      }
      const asker: Asker = {
        request,
        resolve(nanos) {
          signal.removeEventListener('abort', leave)
          resolve(nanos)
        },
        reject(error) {
          signal.removeEventListener('abort', leave)
          reject(error)
        },
      }
      if (signal.aborted) return leave()
      signal.addEventListener('abort', leave, { once: true })
      this.#askers = [...this.#askers, asker]
      void this.#ask()
    })
  }

  #left(asker: Asker): void {
    if (this.#heard.delete(asker) && this.#heard.size === 0) this.#call.abort()
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    while (this.#askers.length > 0) {
      const asked = this.#askers.slice(0, mostLeasesAtOnce)
      this.#askers = this.#askers.slice(asked.length)
      this.#heard = new Set(asked)
      this.#call = new AbortController()
      try {
        const given = await this.#raiseAll(asked.map(({ request }) => request))
        for (const [index, { resolve }] of asked.entries()) resolve(given[index] ?? 0)
      } catch (error) {
        for (const { reject } of asked) reject(error)
      }
    }
    this.#isAsking = false
  }

  async #raiseAll(requests: readonly LeaseRequest[]): Promise<readonly number[]> {
    const path = `${budgetObject}/${encodeURIComponent(this.tenant)}/raiseAll`
    // The handler gives a number for each.
    return (await callHandler(this.#ingress, path, [...requests], {
      signal: this.#call.signal,
      // A call whose answer is lost or late is not made anew: each would wait its turn at the tenant, and the turn of all gets later.
      idempotencyKey: randomUUID(),
    })) as readonly number[]
  }
}

/** The desks of a process, one a tenant. */
export class LeaseDesks {
  readonly #desks = new Map<string, LeaseDesk>()

  of(ingress: IngressOptions, tenant: string): LeaseDesk {
    const desk = this.#desks.get(tenant) ?? new LeaseDesk(ingress, tenant)
    this.#desks.set(tenant, desk)
    return desk
  }
}
