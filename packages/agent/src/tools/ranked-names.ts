import {
  bracesExpanded,
  bracketReadings,
  matchesPath,
  globPattern,
  foldedName,
  mayHaveLookAlikes,
} from '@halting/policy/files'

/**
 * How well a name matches a pattern: the index of the first reading of the pattern that the name matches, or the fact
 * that the name only looks the same.
 */
type Fit = number | 'same-looking'

/** The readings of a glob in order of precedence, and how well names match them. */
export interface RankedGlob {
  readonly readings: readonly string[]
  /** `name`: a path relative to the root of the search. Undefined if the name does not match. */
  fitOf(name: string): Fit | undefined
}

/** Undefined for a pattern with too many alternatives in braces. */
export function rankedGlob(pattern: string): RankedGlob | undefined {
  const readings = bracketReadings(pattern)
  const matchers = readings.map(matcherOf)
  const folded = mayHaveLookAlikes(pattern) ? readings.map((reading) => matcherOf(foldedName(reading))) : []
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

/** Returns a test for paths relative to the root; undefined if the pattern has too many alternatives. */
function matcherOf(pattern: string): ((name: string) => boolean) | undefined {
  const alternatives = bracesExpanded(pattern)?.map((alternative) => {
    // `./*.ts` is anchored, like an absolute pattern.
    return globPattern(alternative.includes('/') ? alternative : `**/${alternative}`)
  })
  if (alternatives === undefined) return undefined
  return (name) => {
    const segments = name.split('/')
    return alternatives.some((alternative) => matchesPath(alternative, segments))
  }
}

/**
 * The effect of a name: it is added, it is the first name of a reading that replaces the earlier names, or it does not
 * count.
 */
export type NameEffect = 'counts' | 'restarts' | 'no'

const maxLookAlikes = 4

/**
 * Collects names and decides which of them count: names with the brackets literally, if there are any; otherwise names
 * that match the brackets as character sets; otherwise a name that looks the same, if it is the only one.
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

  /** The effective reading; undefined if no name matches any reading. */
  get best(): string | undefined {
    return this.#best === undefined ? undefined : this.#glob.readings[this.#best]
  }

  /** Number of names that match the effective reading. */
  get count(): number {
    return this.#count
  }

  /** Number of names that match only a reading of lower precedence. */
  get passedOver(): number {
    return this.#passedOver
  }

  /** Names that look the same as the requested one, if no name matches. */
  get lookAlikes(): readonly string[] {
    return this.#best === undefined ? this.#same : []
  }

  take(name: string): NameEffect {
    const fit = this.#glob.fitOf(name)
    if (fit === 'same-looking' && this.#same.length < maxLookAlikes) this.#same.push(name)
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
    return isBetter ? 'restarts' : 'counts'
  }
}

/** A glob that matches only this path, relative to the root of the search. */
export function globOfPath(name: string): string {
  return `/${name.replace(/[\\*?[\]{}]/g, String.raw`\$&`)}`
}
