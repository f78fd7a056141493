/**
 * Limits per kind of message: burst size, and rate per second. We request every response, so there are no more
 * responses than requests.
 */
const bounds = {
  answer: { atOnce: 2_000, perSecond: 500 },
  unasked: { atOnce: 2_000, perSecond: 200 },
  noise: { atOnce: 1_000, perSecond: 50 },
} as const

/** Limit for all kinds together: reading many unsolicited messages also costs CPU time. */
export const floodBytes: { readonly atOnce: number; readonly perSecond: number } = {
  atOnce: 512 * 1024 * 1024,
  perSecond: 16 * 1024 * 1024,
}

/** Rate limiter for the messages of a server. An endless stream would use up the CPU. */
export class Flood {
  readonly #left: Record<keyof typeof bounds, number> = {
    answer: bounds.answer.atOnce,
    unasked: bounds.unasked.atOnce,
    noise: bounds.noise.atOnce,
  }
  #bytesLeft = floodBytes.atOnce
  #at: number = performance.now()

  /** Whether one more message of this kind is within the limits. */
  accepts(kind: keyof typeof bounds, bytes: number): boolean {
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
