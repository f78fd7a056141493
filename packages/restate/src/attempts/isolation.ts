import { sharedAbort } from '@halting/core/adapters'

/** A session at work in this process. */
export interface Place {
  /** Nothing else is at work here. */
  readonly isAlone: boolean
  /** Aborted when somebody waits to be alone: who has this place leaves it as soon as it can do so in order. */
  readonly makeWay: AbortSignal
  /** It need not be alone any more. */
  share(): void
  /** Again is harmless. */
  leave(): void
}

interface Waiting {
  readonly admit: (place: Place) => void
}

/** So long who waits to be alone keeps others out, and then lets them in: a call of theirs may take hours. */
const shiftMs = 60_000

/**
 * Which sessions are at work in this process together. I1: who has to be alone comes in when nobody is at work, and nobody comes in beside it. I2: while somebody waits to be alone
 * nobody else comes in, and those who are at work are asked to make way; where they do not, it alternates with letting others in. I3: who waits longest goes first.
 */
export class Isolation {
  readonly #inside = new Set<{ isAlone: boolean; readonly askToLeave: () => void }>()
  #toBeAlone: readonly Waiting[] = []
  #others: readonly Waiting[] = []
  /** While somebody waits to be alone. */
  #shift: NodeJS.Timeout | undefined
  #letsOthersIn = false

  /** A place beside others, where one can be had at once. */
  tryEnter(): Place | undefined {
    return this.#isClosed ? undefined : this.#admit(false)
  }

  /** A place beside others. Rejects when it is aborted. */
  enter(signal: AbortSignal): Promise<Place> {
    return this.#wait(false, signal)
  }

  /** A place where nothing else is at work. Rejects when it is aborted. */
  enterAlone(signal: AbortSignal): Promise<Place> {
    return this.#wait(true, signal)
  }

  get #isClosed(): boolean {
    const keepsOthersOut = this.#toBeAlone.length > 0 && !this.#letsOthersIn
    return keepsOthersOut || [...this.#inside].some(({ isAlone }) => isAlone)
  }

  #wait(isAlone: boolean, signal: AbortSignal): Promise<Place> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#remove(waiting)
        // What aborts it says why.
        reject(signal.reason as Error)
        this.#next()
      }
      const waiting: Waiting = {
        admit(place) {
          signal.removeEventListener('abort', leave)
          resolve(place)
        },
      }
      if (signal.aborted) return reject(signal.reason as Error)
      signal.addEventListener('abort', leave, { once: true })
      if (isAlone) this.#toBeAlone = [...this.#toBeAlone, waiting]
      else this.#others = [...this.#others, waiting]
      this.#next()
    })
  }

  #remove(waiting: Waiting): void {
    this.#toBeAlone = this.#toBeAlone.filter((each) => each !== waiting)
    this.#others = this.#others.filter((each) => each !== waiting)
  }

  #next(): void {
    const [alone] = this.#toBeAlone
    if (alone !== undefined && this.#inside.size === 0) {
      this.#remove(alone)
      alone.admit(this.#admit(true))
    } else if (alone !== undefined && !this.#letsOthersIn) {
      for (const { isAlone, askToLeave } of this.#inside) if (!isAlone) askToLeave()
    }
    this.#keepShifts()
    if (this.#isClosed) return
    const others = this.#others
    this.#others = []
    for (const { admit } of others) admit(this.#admit(false))
  }

  #keepShifts(): void {
    if (this.#toBeAlone.length === 0) {
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

  #admit(isAlone: boolean): Place {
    const way = sharedAbort()
    const held = { isAlone, askToLeave: () => way.abort() }
    this.#inside.add(held)
    return {
      get isAlone() {
        return held.isAlone
      },
      makeWay: way.signal,
      share: () => {
        if (!held.isAlone) return
        held.isAlone = false
        this.#next()
      },
      leave: () => {
        if (this.#inside.delete(held)) this.#next()
      },
    }
  }
}
