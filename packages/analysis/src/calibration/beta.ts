// The regularized incomplete beta function and its inverse, by which exact intervals of shares are found.

const lanczos = [
  676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

/** ln Γ(x) for x ≥ 0.5, by Lanczos' approximation: 15 digits. */
function logGamma(x: number): number {
  const shifted = x - 1
  const base = shifted + 7.5
  const series = lanczos.reduce((sum, factor, index) => sum + factor / (shifted + index + 1), 0.99999999999980993)
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(base) - base + Math.log(series)
}

/** The continued fraction of the incomplete beta function, by Lentz' method. It converges quickly for x < (a + 1) / (a + b + 2). */
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

/** The x at which Beta(a, b) has this probability below it. By bisection, since it is asked a few times a table. */
export function betaQuantile(probability: number, a: number, b: number): number {
  let [low, high] = [0, 1]
  for (let round = 0; round < 100 && high - low > 1e-13; round++) {
    const middle = (low + high) / 2
    if (betaProbability(middle, a, b) < probability) low = middle
    else high = middle
  }
  return (low + high) / 2
}
