import { sharedAbort } from '@halting/core/adapters'

/** A session at work in this process. */
export interface IsolationSlot {
  /** Nothing else is at work here. */
  readonly isAlone: boolean
  /** Aborted when somebody waits to be alone: who has this place leaves it as soon as it can do so in order. */
  readonly yieldRequested: AbortSignal
  /** It need not be alone any more. */
  share(): void
  /** Again is harmless. */
  leave(): void
}

interface Waiter {
  readonly admit: (place: IsolationSlot) => void
}

/** So long who waits to be alone keeps others out, and then lets them in: a call of theirs may take hours. */
const shiftMs = 60_000

/**
 * Which sessions are at work in this process together. I1: who has to be alone comes in when nobody is at work, and nobody comes in beside it. I2: while somebody waits to be alone
 * nobody else comes in, and those who are at work are asked to make way; where they do not, it alternates with letting others in. I3: who waits longest goes first.
 */
export class Isolation {
  readonly #occupants = new Set<{ isAlone: boolean; readonly askToLeave: () => void }>()
  #waitingAlone: readonly Waiter[] = []
  #others: readonly Waiter[] = []
  /** While somebody waits to be alone. */
  #shift: NodeJS.Timeout | undefined
  #letsOthersIn = false

  /** A place beside others, where one can be had at once. */
  tryEnter(): IsolationSlot | undefined {
    return this.#isClosed ? undefined : this.#admit(false)
  }

  /** A place beside others. Rejects when it is aborted. */
  enter(signal: AbortSignal): Promise<IsolationSlot> {
    return this.#wait(false, signal)
  }

  /** A place where nothing else is at work. Rejects when it is aborted. */
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
        // What aborts it says why.
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
      for (const { isAlone, askToLeave } of this.#occupants) if (!isAlone) askToLeave()
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
