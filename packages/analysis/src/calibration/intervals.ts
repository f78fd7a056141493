/** The 95 % interval of a share, from 0 to 1. JSON. */
export interface ShareInterval {
  /** The lower bound. */
  readonly low: number
  /** The upper bound. */
  readonly high: number
}

const below = 0.025

/** The exact Clopper–Pearson interval for a share of `count` out of `of`. */
export function countInterval(count: number, of: number): ShareInterval {
  return {
    low: count === 0 ? 0 : betaQuantile(below, count, of - count + 1),
    high: count >= of ? 1 : betaQuantile(1 - below, count + 1, of - count),
  }
}

/**
 * The expected share of future solved runs above the k-th smallest of n solved runs: Beta(n + 1 − k, k). It accounts for the limit being chosen on
 * these same runs, which a Clopper–Pearson interval does not.
 */
export function expectedLoss(rank: number, of: number): { readonly share: number; readonly interval: ShareInterval } {
  const above = of + 1 - rank
  return {
    share: above / (of + 1),
    interval: { low: betaQuantile(below, above, rank), high: betaQuantile(1 - below, above, rank) },
  }
}

/** What a run used of a figure, and how much of that a limit saves. */
export interface UsedAndSaved {
  readonly used: number
  readonly saved: number
}

/** Bounds of the number of bootstrap samples: fewer samples when there are so many runs that it would take seconds. */
const [maxSamples, minSamples, maxDraws] = [1_000, 200, 3_000_000]

/**
 * The bootstrap interval of the share that is saved, with a fixed seed: 1,000 samples, fewer for more than 3,000 runs. Null when no run saves
 * anything. The order of the runs does not matter.
 */
export function savedInterval(runs: readonly UsedAndSaved[]): ShareInterval | null {
  if (!runs.some(({ saved }) => saved > 0)) return null
  const sorted = runs.toSorted((a, b) => a.used - b.used || a.saved - b.saved)
  const [used, saved] = [Float64Array.from(sorted, (run) => run.used), Float64Array.from(sorted, (run) => run.saved)]
  const samples = Math.round(Math.min(maxSamples, Math.max(minSamples, maxDraws / used.length)))
  const shares = bootstrapShares(used, saved, samples)
  const at = (share: number): number => shares[Math.round(share * (samples - 1))] ?? 0
  return { low: at(below), high: at(1 - below) }
}

/**
 * The saved shares of all bootstrap samples, sorted. The random numbers (mulberry32, fixed seed) are generated inline: a function call for each of
 * millions of draws would take a third longer.
 */
function bootstrapShares(used: Float64Array, saved: Float64Array, samples: number): Float64Array {
  const shares = new Float64Array(samples)
  // A power of two, so the product is exact: a random number from 0 to 1 times the number of runs.
  const scale = used.length / 4_294_967_296
  let state = 20_251
  for (let sample = 0; sample < samples; sample++) {
    let [sumOfUsed, sumOfSaved] = [0, 0]
    for (let draw = 0; draw < used.length; draw++) {
      state = (state + 0x6d2b79f5) | 0
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      const at = Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) * scale)
      sumOfUsed += used[at] ?? 0
      sumOfSaved += saved[at] ?? 0
    }
    shares[sample] = sumOfUsed > 0 ? sumOfSaved / sumOfUsed : 0
  }
  return shares.toSorted()
}

// The regularized incomplete beta function and its inverse, for exact intervals of shares.

const lanczos = [
  676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

/** ln Γ(x) for x ≥ 0.5, by Lanczos' approximation; accurate to 15 digits. */
function logGamma(x: number): number {
  const shifted = x - 1
  const base = shifted + 7.5
  const series = lanczos.reduce((sum, factor, index) => sum + factor / (shifted + index + 1), 0.99999999999980993)
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(base) - base + Math.log(series)
}

/** The continued fraction of the incomplete beta function, by Lentz's method. It converges quickly for x < (a + 1) / (a + b + 2). */
function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300
  const awayFromZero = (value: number): number => (Math.abs(value) < tiny ? tiny : value)
  let c = 1
  let d = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1))
  let fraction = d
  for (let m = 1; m <= 10_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / awayFromZero(1 + even * d)
    c = awayFromZero(1 + even / c)
    fraction *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / awayFromZero(1 + odd * d)
    c = awayFromZero(1 + odd / c)
    fraction *= d * c
    if (Math.abs(d * c - 1) < 1e-15) break
  }
  return fraction
}

/** I_x(a, b): the probability that a variable of Beta(a, b) is at most x, for a and b of at least 0.5. */
export function betaProbability(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x))
  return x < (a + 1) / (a + b + 2) ? (front * betaFraction(x, a, b)) / a : 1 - (front * betaFraction(1 - x, b, a)) / b
}

/** The x for which Beta(a, b) has this probability below x. Bisection is fast enough for a few calls per table. */
export function betaQuantile(probability: number, a: number, b: number): number {
  let [low, high] = [0, 1]
  for (let round = 0; round < 100 && high - low > 1e-13; round++) {
    const middle = (low + high) / 2
    if (betaProbability(middle, a, b) < probability) low = middle
    else high = middle
  }
  return (low + high) / 2
}
