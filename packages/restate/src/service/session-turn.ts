import type { AttemptTurn } from '../engine/attempt.ts'
import type { Ticket } from '../worker/places.ts'
import type { Holding } from './held-sessions.ts'
import { isUrgent, type NumberedRequest } from './messages.ts'

/**
 * The turn of a session in this process: an attempt that was here before has left, and a place is free.
 * T1: a session that has waited for an attempt before it, or for its place, begins only if the engine still wants it here. T2: a request that is to end what waits needs
 * no place.
 */
export class SessionTurn implements AttemptTurn {
  /** Settles when nobody else in this process works at the session. */
  readonly entered: Promise<Holding>
  readonly #ticket: Ticket
  /** It waits no longer, and has begun nothing. */
  readonly #onLeft: () => void
  /** Whether it has had its place, or has left. */
  #isOver = false
  /** Numbers of requests that an earlier attempt has heard, with their outcome. */
  readonly #settled: ReadonlySet<number>

  constructor(entered: Promise<Holding>, ticket: Ticket, settled: ReadonlySet<number>, onLeft: () => void) {
    this.entered = entered
    this.#ticket = ticket
    this.#settled = settled
    this.#onLeft = onLeft
    entered.then(
      ({ leaveBy }) =>
        leaveBy(() => {
          // Where it has begun, it is the session that has to be closed first.
          if (!ticket.hasPlace) this.leave()
        }),
      () => this.leave(),
    )
  }

  async next(): Promise<'granted' | 'waits'> {
    const came = await this.#ticket.next()
    if (came === 'granted') this.#isOver = true
    return came
  }

  hear(message: string): void {
    // Only the mailbox sends them.
    const { number, request } = JSON.parse(message) as NumberedRequest
    if (isUrgent(request) && !this.#settled.has(number)) this.#ticket.hurry()
  }

  hurry(): void {
    this.#ticket.hurry()
  }

  rests(giveUp: () => void): void {
    this.#ticket.rests(giveUp)
  }

  works(): void {
    this.#ticket.works()
  }

  leave(): void {
    if (!this.#isOver) this.#onLeft()
    this.#isOver = true
    this.#ticket.leave()
    this.entered.then(
      ({ release }) => release(),
      () => {},
    )
  }
}
