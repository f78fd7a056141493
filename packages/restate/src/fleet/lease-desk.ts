import { randomUUID } from 'node:crypto'
import { anySignal } from '@halting/core/adapters'
import type { Json } from '@halting/core'
import { budgetObject, maxLeasesPerCall } from './budget-service.ts'
import { callHandler, type IngressOptions } from './ingress.ts'
import type { LeaseAnswer, LeaseAsk } from './tenant-money.ts'

interface Asker {
  readonly request: LeaseAsk
  readonly resolve: (answer: LeaseAnswer) => void
  readonly reject: (error: unknown) => void
}

/** From a connection that says nothing for so long nothing is expected any more: the same call is made by another one. All sessions of the tenant wait for it. */
const silentMs = 15_000

/** Who has money of the tenant in this process. */
interface LeaseHolder {
  /** Others wait for money. */
  onOthersWaiting(): void
}

/**
 * Where the sessions of this process ask for the money of one tenant: one call at a time, with all that was asked for meanwhile. The engine takes the calls to a
 * tenant one after another, and each waits for several durable writes: with a call for each session they would wait longer the more there are.
 */
export class LeaseDesk {
  readonly tenant: string
  readonly #ingress: IngressOptions
  readonly #holders = new Set<LeaseHolder>()
  #askers: readonly Asker[] = []
  #isAsking = false
  /** Who waits for the call that is under way. */
  #inFlight = new Set<Asker>()
  #call = new AbortController()
  #waiting = 0

  constructor(ingress: IngressOptions, tenant: string) {
    this.#ingress = ingress
    this.tenant = tenant
  }

  /** How many sessions of the tenant waited for money when the budget was asked last. */
  get waiting(): number {
    return this.#waiting
  }

  add(holder: LeaseHolder): void {
    this.#holders.add(holder)
  }

  remove(holder: LeaseHolder): void {
    this.#holders.delete(holder)
  }

  /** Gives the answer of the budget, in the order in which it was asked. Rejects when it is aborted. @throws HaltingError `driver` for what the engine refuses. */
  ask(request: LeaseAsk, signal: AbortSignal): Promise<LeaseAnswer> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#askers = this.#askers.filter((each) => each !== asker)
        this.#onLeft(asker)
        // What aborts it says why.
        reject(signal.reason as Error)
      }
      const asker: Asker = {
        request,
        resolve(answer) {
          signal.removeEventListener('abort', leave)
          resolve(answer)
        },
        reject(error) {
          signal.removeEventListener('abort', leave)
          reject(error)
        },
      }
      if (signal.aborted) return leave()
      signal.addEventListener('abort', leave, { once: true })
      this.#askers = [...this.#askers, asker]
      void this.#askAll()
    })
  }

  #onLeft(asker: Asker): void {
    if (this.#inFlight.delete(asker) && this.#inFlight.size === 0) this.#call.abort()
  }

  async #askAll(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    while (this.#askers.length > 0) {
      const asked = this.#askers.slice(0, maxLeasesPerCall)
      this.#askers = this.#askers.slice(asked.length)
      this.#inFlight = new Set(asked)
      this.#call = new AbortController()
      try {
        const answers = await this.#askOnce(asked.map(({ request }) => request))
        for (const [index, { resolve, reject }] of asked.entries()) {
          const answer = answers[index]
          if (answer === undefined) reject(new Error('The budget has answered too little.'))
          else resolve(answer)
        }
        this.#onAnswers(answers)
      } catch (error) {
        for (const { reject } of asked) reject(error)
      }
    }
    this.#isAsking = false
  }

  #onAnswers(answers: readonly LeaseAnswer[]): void {
    const last = answers.at(-1)
    if (last === undefined) return
    this.#waiting = last.waiting
    if (last.waiting > 0) for (const holder of this.#holders) holder.onOthersWaiting()
  }

  async #askOnce(requests: readonly LeaseAsk[]): Promise<readonly LeaseAnswer[]> {
    const path = `${budgetObject}/${encodeURIComponent(this.tenant)}/ask`
    const { signal } = this.#call
    // A call whose answer is lost or late is not made anew: each would wait its turn at the tenant, and the turn of all gets later.
    const idempotencyKey = randomUUID()
    for (;;) {
      const silent = AbortSignal.timeout(silentMs)
      const how = { signal: anySignal([signal, silent]), idempotencyKey }
      try {
        // The handler gives an answer for each. What was asked is JSON.
        return (await callHandler(this.#ingress, path, [...requests] as Json, how)) as unknown as readonly LeaseAnswer[]
      } catch (error) {
        if (signal.aborted || !silent.aborted) throw error
      }
    }
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
