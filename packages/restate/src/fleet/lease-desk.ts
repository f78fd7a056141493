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

/** A connection that is silent for this long is abandoned, and the same call is made over another one: all sessions of the tenant wait for it. */
const silentMs = 15_000

/** A session of this process that has a lease. */
interface LeaseHolder {
  /** Called when other sessions wait for money. */
  onOthersWaiting(): void
}

/**
 * Requests money of one tenant for all sessions of this process: one call at a time, which contains all requests that
 * arrived during the previous call. The engine handles calls to a tenant one after another, and each waits for several
 * durable writes, so one call per session would slow down all of them.
 */
export class LeaseDesk {
  readonly tenant: string
  readonly #ingress: IngressOptions
  readonly #holders = new Set<LeaseHolder>()
  #askers: readonly Asker[] = []
  #isAsking = false
  /** Callers that wait for the current call. */
  #inFlight = new Set<Asker>()
  #call = new AbortController()
  #waiting = 0

  constructor(ingress: IngressOptions, tenant: string) {
    this.#ingress = ingress
    this.tenant = tenant
  }

  /** How many sessions of the tenant waited for money at the last answer of the budget. */
  get waiting(): number {
    return this.#waiting
  }

  add(holder: LeaseHolder): void {
    this.#holders.add(holder)
  }

  remove(holder: LeaseHolder): void {
    this.#holders.delete(holder)
  }

  /** Returns the budget's answer. Requests are answered in order. Rejects when it is aborted. @throws HaltingError `driver` if the engine refuses. */
  ask(request: LeaseAsk, signal: AbortSignal): Promise<LeaseAnswer> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#askers = this.#askers.filter((each) => each !== asker)
        this.#onLeft(asker)
        // The reason of the abort says why.
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
          if (answer === undefined) reject(new Error('The budget has not answered all requests.'))
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
    // A call whose answer is lost or late must keep its key: a new call would queue at the tenant again and delay all others.
    const idempotencyKey = randomUUID()
    for (;;) {
      const silent = AbortSignal.timeout(silentMs)
      const how = { signal: anySignal([signal, silent]), idempotencyKey }
      try {
        // The handler returns an answer for each request. Requests are JSON.
        return (await callHandler(this.#ingress, path, [...requests] as Json, how)) as unknown as readonly LeaseAnswer[]
      } catch (error) {
        if (signal.aborted || !silent.aborted) throw error
      }
    }
  }
}

/** The desks of a process, one for each tenant. */
export class LeaseDesks {
  readonly #desks = new Map<string, LeaseDesk>()

  of(ingress: IngressOptions, tenant: string): LeaseDesk {
    const desk = this.#desks.get(tenant) ?? new LeaseDesk(ingress, tenant)
    this.#desks.set(tenant, desk)
    return desk
  }
}
