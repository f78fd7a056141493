import type { AttemptTurn } from '../engine/attempt.ts'
import { LeftError } from '../worker/departure.ts'
import type { Ticket } from '../worker/places.ts'
import type { SessionLock } from './session-locks.ts'
import { isUrgent, type NumberedRequest } from './messages.ts'

/**
 * The turn of a session in this process: the previous attempt has left, and a place is free. T1: a session that has
 * waited for a previous attempt or for its place begins only if the engine still wants it here. T2: a request that ends
 * waiting work needs no place. T3: until its work begins, the session returns its place as soon as the engine gives up
 * the attempt, whatever the attempt waits for.
 */
export class SessionTurn implements AttemptTurn {
  /** Settles when no other attempt in this process works at the session. */
  readonly #lock: Promise<SessionLock>
  readonly #ticket: Ticket
  /** Called when the turn stops waiting without having begun. */
  readonly #onLeft: () => void
  /** Whether it has received its place, or has left. */
  #isOver = false
  /** `begun`: the work at the session returns the place. */
  #state: 'waits' | 'begun' | 'left' = 'waits'
  /** Numbers of requests that an earlier attempt has settled. */
  readonly #settled: ReadonlySet<number>

  constructor(
    entered: Promise<SessionLock>,
    ticket: Ticket,
    {
      settled,
      gone,
      onLeft,
    }: { readonly settled: ReadonlySet<number>; readonly gone: AbortSignal; onLeft: () => void },
  ) {
    this.#lock = entered
    this.#ticket = ticket
    this.#settled = settled
    this.#onLeft = onLeft
    const giveUp = (): void => {
      // If the work has begun, the session must be closed first.
      if (this.#state === 'waits') this.leave()
    }
    if (gone.aborted) giveUp()
    else gone.addEventListener('abort', giveUp, { once: true })
    entered.then(
      ({ leaveBy }) => {
        if (this.#state === 'waits') leaveBy(giveUp)
      },
      () => this.leave(),
    )
  }

  /**
   * The work at the session begins; it will return the place and release the session. Resolves when no other attempt in this process works at it.
   * @throws LeftError if the turn was given up meanwhile.
   */
  async begin(): Promise<SessionLock> {
    if (this.#state === 'left') throw new LeftError()
    this.#state = 'begun'
    return this.#lock
  }

  async next(): Promise<'granted' | 'waits'> {
    const outcome = await this.#ticket.next()
    if (outcome === 'granted') this.#isOver = true
    return outcome
  }

  hear(message: string): void {
    // Only the mailbox sends messages.
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
    this.#state = 'left'
    this.#ticket.leave()
    this.#lock.then(
      ({ release }) => release(),
      () => {},
    )
  }
}
