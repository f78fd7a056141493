import { sharedAbort } from '@halting/core/adapters'

/** Permission for one session to work in this process. */
export interface IsolationSlot {
  /** Whether no other session is at work in this process. */
  readonly isAlone: boolean
  /** Aborted when another session waits to be alone. The owner should leave the slot as soon as it can do so in order. */
  readonly yieldRequested: AbortSignal
  /** Call this when the session need no longer be alone. */
  share(): void
  /** Leaves the slot. Calling it again has no effect. */
  leave(): void
}

interface Waiter {
  readonly admit: (place: IsolationSlot) => void
}

/** How long a session that waits to be alone keeps others out before it lets them in: their calls may take hours. */
const shiftMs = 60_000

/**
 * Decides which sessions work in this process together. I1: a session that must be alone enters when no other is at
 * work, and no other enters while it works. I2: while a session waits to be alone, no other enters, and sessions at work
 * are asked to yield. If they do not yield, the process alternates between refusing and admitting other sessions. I3:
 * sessions enter in the order of their requests.
 */
export class Isolation {
  readonly #occupants = new Set<{ isAlone: boolean; readonly askToLeave: () => void }>()
  #waitingAlone: readonly Waiter[] = []
  #others: readonly Waiter[] = []
  /** Timer that runs while a session waits to be alone. */
  #shift: NodeJS.Timeout | undefined
  #letsOthersIn = false

  /** Returns a shared slot if one is free at once. */
  tryEnter(): IsolationSlot | undefined {
    return this.#isClosed ? undefined : this.#admit(false)
  }

  /** Waits for a shared slot. Rejects when it is aborted. */
  enter(signal: AbortSignal): Promise<IsolationSlot> {
    return this.#wait(false, signal)
  }

  /** Waits for an exclusive slot. Rejects when it is aborted. */
  enterAlone(signal: AbortSignal): Promise<IsolationSlot> {
    return this.#wait(true, signal)
  }

  get #isClosed(): boolean {
    const keepsOthersOut = this.#waitingAlone.length > 0 && !this.#letsOthersIn
    return keepsOthersOut || [...this.#occupants].some(({ isAlone }) => isAlone)
  }

  #wait(isAlone: boolean, signal: AbortSignal): Promise<IsolationSlot> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#remove(waiter)
        // The reason of the abort is the cause of the rejection.
        reject(signal.reason as Error)
        this.#next()
      }
      const waiter: Waiter = {
        admit(place) {
          signal.removeEventListener('abort', leave)
          resolve(place)
        },
      }
      if (signal.aborted) return reject(signal.reason as Error)
      signal.addEventListener('abort', leave, { once: true })
      if (isAlone) this.#waitingAlone = [...this.#waitingAlone, waiter]
      else this.#others = [...this.#others, waiter]
      this.#next()
    })
  }

  #remove(waiter: Waiter): void {
    this.#waitingAlone = this.#waitingAlone.filter((each) => each !== waiter)
    this.#others = this.#others.filter((each) => each !== waiter)
  }

  #next(): void {
    const [alone] = this.#waitingAlone
    if (alone !== undefined && this.#occupants.size === 0) {
      this.#remove(alone)
      alone.admit(this.#admit(true))
    } else if (alone !== undefined && !this.#letsOthersIn) {
      for (const { isAlone, askToLeave: askToYield } of this.#occupants) if (!isAlone) askToYield()
    }
    this.#updateShifts()
    if (this.#isClosed) return
    const others = this.#others
    this.#others = []
    for (const { admit } of others) admit(this.#admit(false))
  }

  #updateShifts(): void {
    if (this.#waitingAlone.length === 0) {
      clearTimeout(this.#shift)
      this.#shift = undefined
      this.#letsOthersIn = false
      return
    }
    this.#shift ??= setTimeout(() => {
      this.#shift = undefined
      this.#letsOthersIn = !this.#letsOthersIn
      this.#next()
    }, shiftMs).unref()
  }

  #admit(isAlone: boolean): IsolationSlot {
    const yieldRequest = sharedAbort()
    const occupant = { isAlone, askToLeave: () => yieldRequest.abort() }
    this.#occupants.add(occupant)
    return {
      get isAlone() {
        return occupant.isAlone
      },
      yieldRequested: yieldRequest.signal,
      share: () => {
        if (!occupant.isAlone) return
        occupant.isAlone = false
        this.#next()
      },
      leave: () => {
        if (this.#occupants.delete(occupant)) this.#next()
      },
    }
  }
}
