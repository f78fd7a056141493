/** At most so many at once. Who waits longest goes first. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** Somebody waits for one. */
  get isWanted(): boolean {
    return this.#waiting.length > 0
  }

  /** Gives back what it took when it is called; undefined where none came free in time, or `signal` aborted. */
  async take(patienceMs: number, signal: AbortSignal): Promise<(() => void) | undefined> {
    if (this.#free > 0) this.#free--
    else if (!(await this.#wait(patienceMs, signal))) return undefined
    let isBack = false
    return () => {
      if (isBack) return
      isBack = true
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }

  /** True: somebody has handed theirs on. */
  async #wait(patienceMs: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    return new Promise<boolean>((resolve) => {
      const settle = (isMine: boolean): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        resolve(isMine)
      }
      const take = (): void => settle(true)
      const giveUp = (): void => {
        const place = this.#waiting.indexOf(take)
        if (place < 0) return
        this.#waiting.splice(place, 1)
        settle(false)
      }
      const timer = setTimeout(giveUp, patienceMs)
      signal.addEventListener('abort', giveUp)
      this.#waiting.push(take)
    })
  }
}
