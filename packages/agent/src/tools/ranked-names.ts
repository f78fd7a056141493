import {
  bracesExpanded,
  bracketReadings,
  fitsPath,
  globPattern,
  foldedName,
  hasCounterparts,
} from '@halting/policy/files'

/** How well a name fits a pattern: the index of the first reading of the pattern that it fits, or that it only looks the same. */
type Fit = number | 'same-looking'

/** The readings of a glob, in the order in which they count, and how a name fits them. */
export interface RankedGlob {
  readonly readings: readonly string[]
  /** `name` is a path relative to where the search begins. Undefined for one that does not fit. */
  fitOf(name: string): Fit | undefined
}

/** Undefined for a pattern with too many alternatives in braces. */
export function rankedGlob(pattern: string): RankedGlob | undefined {
  const readings = bracketReadings(pattern)
  const matchers = readings.map(matcherOf)
  const folded = hasCounterparts(pattern) ? readings.map((reading) => matcherOf(foldedName(reading))) : []
  if (!matchers.every((matcher) => matcher !== undefined)) return undefined
  return {
    readings,
    fitOf(name) {
      const at = matchers.findIndex((matcher) => matcher(name))
      if (at !== -1) return at
      if (folded.length === 0) return undefined
      const same = foldedName(name)
      return folded.some((matcher) => matcher?.(same) === true) ? 'same-looking' : undefined
    },
  }
}

/** Tells whether a path relative to the root fits; undefined when the pattern has too many alternatives. */
function matcherOf(pattern: string): ((name: string) => boolean) | undefined {
  const alternatives = bracesExpanded(pattern)?.map((alternative) => {
    // `./*.ts` is anchored, as an absolute pattern is.
    return globPattern(alternative.includes('/') ? alternative : `**/${alternative}`)
  })
  if (alternatives === undefined) return undefined
  return (name) => {
    const segments = name.split('/')
    return alternatives.some((alternative) => fitsPath(alternative, segments))
  }
}

/** What is to be done with a name: it is one more, the first of a reading that replaces what was taken before, or none. */
export type Taken = 'counts' | 'begins anew' | 'no'

const mostLookAlikes = 4

/**
 * Takes names as they are found and says which of them count: those with brackets as part of a name where there are any, else those that fit brackets as
 * sets of characters, else a name that looks the same, if it is the only one.
 */
export class BestNames {
  readonly #glob: RankedGlob
  readonly #same: string[] = []
  #best: number | undefined
  #count = 0
  #passedOver = 0

  constructor(glob: RankedGlob) {
    this.#glob = glob
  }

  /** The reading that counts; undefined where no name fits any. */
  get best(): string | undefined {
    return this.#best === undefined ? undefined : this.#glob.readings[this.#best]
  }

  /** How many names fit it. */
  get count(): number {
    return this.#count
  }

  /** Names that fit a reading that comes after the one that counts. */
  get passedOver(): number {
    return this.#passedOver
  }

  /** Names that look the same as what was asked for, where no name fits. */
  get lookAlikes(): readonly string[] {
    return this.#best === undefined ? this.#same : []
  }

  take(name: string): Taken {
    const fit = this.#glob.fitOf(name)
    if (fit === 'same-looking' && this.#same.length < mostLookAlikes) this.#same.push(name)
    if (fit === undefined || fit === 'same-looking') return 'no'
    if (this.#best !== undefined && fit > this.#best) {
      this.#passedOver += 1
      return 'no'
    }
    const isBetter = this.#best !== undefined && fit < this.#best
    if (isBetter) {
      this.#passedOver += this.#count
      this.#count = 0
    }
    this.#best = fit
    this.#count += 1
    return isBetter ? 'begins anew' : 'counts'
  }
}

/** A glob that fits this path alone, from where the search begins. */
export function globOfPath(name: string): string {
  return `/${name.replace(/[\\*?[\]{}]/g, String.raw`\$&`)}`
}
