import { LeftError } from './departure.ts'
import { PlaceQueue, type QueuedPlace } from './place-queue.ts'

/** A wait of this length is reported to the caller. It is shorter than the time for which the engine lets an attempt be silent. */
const beatMs = 40_000
const betweenBeatsMs = 5_000

/** One session's claim to a place. */
export interface Ticket {
  /** `granted`: it has a place until `leave`. `waits`: the wait was so long that the engine must be sent something; call it again. Rejects after `leave`. */
  next(): Promise<'granted' | 'waits'>
  /** Whether it has a place. */
  readonly hasPlace: boolean
  /** Grants it a place now, even if all are taken: a person wants to end waiting work. */
  hurry(): void
  /** Called when the session only waits, for example for a person. `giveUp` is called, once, when another session needs the place. */
  rests(giveUp: () => void): void
  /** Called when the session works again. */
  works(): void
  /** Returns the place, or stops waiting. Calling it again has no effect. */
  leave(): void
}

class Claim implements Ticket, QueuedPlace {
  readonly group: string
  readonly sinceMs: number
  readonly #places: Places
  state: 'waits' | 'granted' | 'left' = 'waits'
  /** The time since which the engine has received nothing from the claim, by `performance.now`. */
  silentSince = 0
  #waitingCall:
    | { readonly resolve: (outcome: 'granted' | 'waits') => void; readonly reject: (error: Error) => void }
    | undefined
  giveUp: (() => void) | undefined

  constructor(places: Places, { group, sinceMs }: QueuedPlace) {
    this.#places = places
    this.group = group
    this.sinceMs = sinceMs
  }

  get hasPlace(): boolean {
    return this.state === 'granted'
  }

  next(): Promise<'granted' | 'waits'> {
    if (this.state === 'granted') return Promise.resolve('granted')
    if (this.state === 'left') return Promise.reject(new LeftError())
    this.silentSince = performance.now()
    return new Promise((resolve, reject) => (this.#waitingCall = { resolve, reject }))
  }

  settle(outcome: 'granted' | 'waits' | 'left'): void {
    const asked = this.#waitingCall
    this.#waitingCall = undefined
    if (outcome === 'left') asked?.reject(new LeftError())
    else asked?.resolve(outcome)
  }

  hurry(): void {
    this.#places.hurry(this)
  }

  rests(giveUp: () => void): void {
    this.#places.rests(this, giveUp)
  }

  works(): void {
    this.#places.works(this)
  }

  leave(): void {
    this.#places.leave(this)
  }
}

/**
 * The places of a worker process: a limited number of sessions work at once, and the others wait in the order of `PlaceQueue`.
 * P1: no more places are taken than exist, except by `hurry`.
 * P2: a free place goes to the next session at once.
 * P3: resting sessions give their places to waiting ones, the one that rests longest first, and no more of them than wait.
 * P4: there is one timer, however many wait.
 */
export class Places {
  /** Maximum number of sessions that work at the same time; Infinity for no limit. */
  readonly most: number
  readonly #queue = new PlaceQueue<Claim>()
  #taken = 0
  readonly #resting = new Set<Claim>()
  /** Claims that were asked to give up their place and still have it. */
  readonly #leaving = new Set<Claim>()
  #heartbeat: NodeJS.Timeout | undefined

  constructor(most: number = Infinity) {
    this.most = most
  }

  /** Free places. */
  get free(): number {
    return Math.max(0, this.most - this.#taken)
  }

  /** Sessions at work, including those that rest here. */
  get taken(): number {
    return this.#taken
  }

  /** Sessions that wait for a place. */
  get waiting(): number {
    return this.#queue.size
  }

  /** Requests a place. */
  ask(session: QueuedPlace): Ticket {
    const claim = new Claim(this, session)
    this.#queue.add(claim)
    this.#fill()
    return claim
  }

  /** Removes this many sessions from the queue, evenly from first to last: the engine begins them again, at a worker that has room. */
  giveAway(count: number): void {
    const all: Claim[] = []
    for (let claim = this.#queue.next(); claim !== undefined; claim = this.#queue.next()) all.push(claim)
    const partUpTo = (index: number): number => Math.ceil((index * Math.min(count, all.length)) / all.length)
    for (const [index, claim] of all.entries()) {
      if (partUpTo(index + 1) === partUpTo(index)) this.#queue.add(claim)
      else {
        claim.state = 'left'
        claim.settle('left')
      }
    }
    this.#updateHeartbeat()
  }

  /** Grants the claim a place, even if all are taken (`Ticket.hurry`). */
  hurry(claim: Claim): void {
    if (claim.state !== 'waits') return
    this.#queue.remove(claim)
    this.#grant(claim)
    this.#fill()
  }

  /** From now on another session may get the place of this claim: `giveUp` is called, once, when one needs it. */
  rests(claim: Claim, giveUp: () => void): void {
    if (claim.state !== 'granted') return
    claim.giveUp = giveUp
    this.#resting.add(claim)
    this.#reclaim()
  }

  /** The session of this claim needs its place again. */
  works(claim: Claim): void {
    this.#resting.delete(claim)
    claim.giveUp = undefined
  }

  /** Frees the place of this claim, or removes it from the queue. Calling it again has no effect. */
  leave(claim: Claim): void {
    const { state } = claim
    if (state === 'left') return
    claim.state = 'left'
    this.#resting.delete(claim)
    this.#leaving.delete(claim)
    if (state === 'granted') this.#taken--
    else this.#queue.remove(claim)
    claim.settle('left')
    this.#fill()
  }

  #fill(): void {
    while (this.#taken < this.most) {
      const claim = this.#queue.next()
      if (claim === undefined) break
      this.#grant(claim)
    }
    this.#reclaim()
    this.#updateHeartbeat()
  }

  #grant(claim: Claim): void {
    this.#taken++
    claim.state = 'granted'
    claim.settle('granted')
  }

  /** Makes as many resting sessions give up their places as there are waiting ones. */
  #reclaim(): void {
    for (const claim of this.#resting) {
      if (this.#leaving.size >= this.#queue.size) return
      const { giveUp } = claim
      this.works(claim)
      this.#leaving.add(claim)
      giveUp?.()
    }
  }

  #updateHeartbeat(): void {
    if (this.#queue.size === 0) {
      clearInterval(this.#heartbeat)
      this.#heartbeat = undefined
      return
    }
    this.#heartbeat ??= setInterval(() => {
      const before = performance.now() - beatMs
      for (const claim of this.#queue) if (claim.silentSince < before) claim.settle('waits')
    }, betweenBeatsMs).unref()
  }
}
