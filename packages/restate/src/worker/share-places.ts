import { randomUUID } from 'node:crypto'
import { anySignal } from '@halting/core/adapters'
import type { IngressOptions } from '../fleet/ingress.ts'
import { callHandler } from '../fleet/ingress.ts'
import { reportEveryMs, sessionsToGiveAway, type OtherPlaces } from '../fleet/free-places.ts'
import { fleetObject, maxPlaces } from '../fleet/free-places-service.ts'
import type { Places } from './places.ts'

/** An engine that does not answer by then is asked at the next look. */
const answerMs = 1_500
/** Others have had free places at so many looks: a moment later their own sessions may have them. */
const fewestLooks = 2
/** Where a balancer sends what was given away back here, it is tried less and less often. */
const mostLooks = 64

export interface SharePlacesOptions {
  readonly ingress: IngressOptions
  /** The address that the workers share. */
  readonly url: string
  readonly places: Pick<Places, 'free' | 'waiting' | 'giveAway'>
  /** The engine makes other connections for what it begins next: a balancer may send them to other workers. */
  readonly renewConnections: () => void
}

/**
 * Several workers behind one address: the engine knows one, and none of it is told who has room. S1: each reports its places when they have changed, at most once a look, and at
 * least every ten seconds. S2: one with a queue gives as many sessions away as are its part of the places that others have had free for two looks: their attempts end
 * before anything was begun, and the engine begins them again by a new connection. S3: while that changes nothing, it is tried less and less often.
 */
export class SharePlaces {
  readonly #options: SharePlacesOptions
  readonly #worker = randomUUID()
  #last: { readonly free: number; readonly waiting: number; readonly at: number } | undefined
  #looksWithRoom = 0
  #looksBefore = fewestLooks
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
    if (count === 0) this.#looksBefore = fewestLooks
    this.#looksWithRoom = count > 0 ? this.#looksWithRoom + 1 : 0
    if (this.#looksWithRoom < this.#looksBefore) return
    this.#looksWithRoom = 0
    this.#looksBefore = Math.min(mostLooks, this.#looksBefore * 2)
    renewConnections()
    places.giveAway(count)
  }

  /** This worker takes no more sessions: the others send it none. */
  async leave(): Promise<void> {
    this.#hasLeft = true
    // Who is not told of it knows after half a minute.
    await this.#report({ free: 0, waiting: 0 }, AbortSignal.timeout(answerMs)).catch(() => undefined)
  }

  async #report(own: { readonly free: number; readonly waiting: number }, signal: AbortSignal): Promise<OtherPlaces> {
    const { ingress, url } = this.#options
    const path = `${fleetObject}/${encodeURIComponent(url)}/report`
    const soon = anySignal([signal, AbortSignal.timeout(answerMs)])
    const report = { worker: this.#worker, ...own }
    // The object gives them.
    return (await callHandler(ingress, path, report, { signal: soon })) as unknown as OtherPlaces
  }

  /** Who has a queue asks what the others have. */
  #isNews({ free, waiting }: { readonly free: number; readonly waiting: number }): boolean {
    const last = this.#last
    if (last === undefined || waiting > 0) return true
    return last.free !== free || last.waiting !== waiting || performance.now() - last.at >= reportEveryMs
  }
}
