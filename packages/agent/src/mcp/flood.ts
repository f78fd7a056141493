/** How much of each kind may come at once, and in each second after that. Answers are asked for, so there is no more of them than of questions. */
const bounds = {
  answer: { atOnce: 2_000, perSecond: 500 },
  unasked: { atOnce: 2_000, perSecond: 200 },
  noise: { atOnce: 1_000, perSecond: 50 },
} as const

/** Of all kinds together: to read much that nobody asked for takes a processor too. */
export const floodBytes: { readonly atOnce: number; readonly perSecond: number } = {
  atOnce: 512 * 1024 * 1024,
  perSecond: 16 * 1024 * 1024,
}

/** Counts what a server sends. One that sends without end would use up a processor, and be heard by nobody. */
export class Flood {
  readonly #left: Record<keyof typeof bounds, number> = {
    answer: bounds.answer.atOnce,
    unasked: bounds.unasked.atOnce,
    noise: bounds.noise.atOnce,
  }
  #bytesLeft = floodBytes.atOnce
  #at: number = performance.now()

  /** Whether one more of this kind is taken. */
  lets(kind: keyof typeof bounds, bytes: number): boolean {
    const now = performance.now()
    const seconds = (now - this.#at) / 1_000
    this.#at = now
    for (const each of ['answer', 'unasked', 'noise'] as const)
      this.#left[each] = Math.min(bounds[each].atOnce, this.#left[each] + seconds * bounds[each].perSecond)
    this.#bytesLeft = Math.min(floodBytes.atOnce, this.#bytesLeft + seconds * floodBytes.perSecond) - bytes
    this.#left[kind] -= 1
    return this.#left[kind] >= 0 && this.#bytesLeft >= 0
  }
}
