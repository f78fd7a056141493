import { randomUUID } from 'node:crypto'
import { anySignal } from '@halting/core/adapters'
import type { IngressOptions } from '../fleet/ingress.ts'
import { callHandler } from '../fleet/ingress.ts'
import { reportEveryMs, sessionsToGiveAway, type OtherPlaces } from '../fleet/free-places.ts'
import { fleetObject, maxPlaces } from '../fleet/free-places-service.ts'
import type { Places } from './places.ts'

/** Time limit for an answer of the engine, in milliseconds; after it, the next check repeats the request. */
const answerMs = 1_500
/** Number of consecutive checks with free places elsewhere. Sessions of those workers may take the places shortly afterwards. */
const minLooks = 2
/** Upper bound of that number. It grows while a load balancer sends sessions back here. */
const maxLooks = 64

export interface SharePlacesOptions {
  readonly ingress: IngressOptions
  /** The address that the workers share. */
  readonly url: string
  readonly places: Pick<Places, 'free' | 'waiting' | 'giveAway'>
  /** Makes the engine open other connections for its next calls, which a load balancer may send to other workers. */
  readonly renewConnections: () => void
}

/**
 * Balances several workers behind one address: the engine knows only that address, and no worker knows which of them has room.
 * S1: each worker reports its places when they change, at most once for each look and at least every ten seconds.
 * S2: a worker with a queue gives away its share of the places that others have had free for two looks. Those attempts end before anything was begun, and the engine begins them
 * again over a new connection.
 * S3: if that changes nothing, it is tried less and less often.
 */
export class SharePlaces {
  readonly #options: SharePlacesOptions
  readonly #worker = randomUUID()
  #last: { readonly free: number; readonly waiting: number; readonly at: number } | undefined
  #looksWithRoom = 0
  #looksBefore = minLooks
  #hasLeft = false

  constructor(options: SharePlacesOptions) {
    this.#options = options
  }

  async update(signal: AbortSignal): Promise<void> {
    const { places, renewConnections } = this.#options
    const { free, waiting } = places
    const own = { free: Math.min(free, maxPlaces), waiting }
    if (this.#hasLeft || !this.#isNews(own)) return
    const others = await this.#report(own, signal)
    this.#last = { ...own, at: performance.now() }
    const count = sessionsToGiveAway(own, others)
    if (count === 0) this.#looksBefore = minLooks
    this.#looksWithRoom = count > 0 ? this.#looksWithRoom + 1 : 0
    if (this.#looksWithRoom < this.#looksBefore) return
    this.#looksWithRoom = 0
    this.#looksBefore = Math.min(maxLooks, this.#looksBefore * 2)
    renewConnections()
    places.giveAway(count)
  }

  /** Called when this worker accepts no more sessions, so that other workers send it none. */
  async leave(): Promise<void> {
    this.#hasLeft = true
    // If the report is lost, the others notice after half a minute.
    await this.#report({ free: 0, waiting: 0 }, AbortSignal.timeout(answerMs)).catch(() => undefined)
  }

  async #report(own: { readonly free: number; readonly waiting: number }, signal: AbortSignal): Promise<OtherPlaces> {
    const { ingress, url } = this.#options
    const path = `${fleetObject}/${encodeURIComponent(url)}/report`
    const soon = anySignal([signal, AbortSignal.timeout(answerMs)])
    const report = { worker: this.#worker, ...own }
    // This cast is safe: the object returns this type.
    return (await callHandler(ingress, path, report, { signal: soon })) as unknown as OtherPlaces
  }

  /** Whether to send a report. A worker with a queue always requests the free places of the others. */
  #isNews({ free, waiting }: { readonly free: number; readonly waiting: number }): boolean {
    const last = this.#last
    if (last === undefined || waiting > 0) return true
    return last.free !== free || last.waiting !== waiting || performance.now() - last.at >= reportEveryMs
  }
}
