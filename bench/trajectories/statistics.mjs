// Intervals, areas under curves and two small classifiers. Everything that draws does so from a fixed seed.

/** Random numbers in [0, 1) that are the same for the same seed (mulberry32). @param {number} seed */
export function randomOf(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** A copy in random order. @template T @param {readonly T[]} items @param {() => number} random @returns {T[]} */
export function shuffled(items, random) {
  const copy = [...items]
  for (let at = copy.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    ;[copy[at], copy[other]] = [copy[other], copy[at]]
  }
  return copy
}

/** The value below which this share of the values is, interpolated; undefined for no values. @param {readonly number[]} values @param {number} share */
export function quantile(values, share) {
  if (values.length === 0) return undefined
  const sorted = Float64Array.from(values).sort()
  const at = share * (sorted.length - 1)
  const below = Math.floor(at)
  return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below])
}

/** @param {readonly number[]} values */
export const medianOf = (values) => quantile(values, 0.5)

/** The median with its 95 % interval by ranks, which needs no distribution; undefined for no values. @param {readonly number[]} values */
export function medianInterval(values) {
  if (values.length === 0) return undefined
  const sorted = Float64Array.from(values).sort()
  const half = 0.98 * Math.sqrt(sorted.length)
  const low = Math.max(0, Math.floor(sorted.length / 2 - half) - 1)
  const high = Math.min(sorted.length - 1, Math.ceil(sorted.length / 2 + half))
  return { value: medianOf(values), low: sorted[low], high: sorted[high], of: values.length }
}

const lanczos = [676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7]

/** The logarithm of the gamma function, for numbers from 0.5. @param {number} x */
function logGamma(x) {
  const y = x - 1
  let sum = 0.99999999999980993
  for (const [index, factor] of lanczos.entries()) sum += factor / (y + index + 1)
  const t = y + lanczos.length - 0.5
  return 0.5 * Math.log(2 * Math.PI) + (y + 0.5) * Math.log(t) - t + Math.log(sum)
}

/** The regularized incomplete beta function: P(X ≤ x) of Beta(a, b). @param {number} x @param {number} a @param {number} b @returns {number} */
export function betaShare(x, a, b) {
  if (x <= 0) return 0
  if (x >= 1) return 1
  if (x > (a + 1) / (a + b + 2)) return 1 - betaShare(1 - x, b, a)
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x)) / a
  const tiny = 1e-300
  let c = 1
  let d = 1 - ((a + b) * x) / (a + 1)
  d = 1 / (Math.abs(d) < tiny ? tiny : d)
  let fraction = d
  for (let m = 1; m <= 500; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / (1 + even * d || tiny)
    c = 1 + even / c || tiny
    fraction *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / (1 + odd * d || tiny)
    c = 1 + odd / c || tiny
    const change = d * c
    fraction *= change
    if (Math.abs(change - 1) < 1e-14) break
  }
  return front * fraction
}

/** The x at which Beta(a, b) has this share below it. @param {number} share @param {number} a @param {number} b */
function betaQuantile(share, a, b) {
  let [low, high] = [0, 1]
  for (let step = 0; step < 80; step++) {
    const middle = (low + high) / 2
    if (betaShare(middle, a, b) < share) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** The exact interval of a share (Clopper and Pearson): never narrower than it claims, where runs are independent. @param {number} count @param {number} of @param {number} [confidence] */
export function exactInterval(count, of, confidence = 0.95) {
  const tail = (1 - confidence) / 2
  return {
    low: count === 0 ? 0 : betaQuantile(tail, count, of - count + 1),
    high: count === of ? 1 : betaQuantile(1 - tail, count + 1, of - count),
  }
}

const bootstrapSamples = 1000

/**
 * The 95 % interval of a statistic by drawing clusters with replacement. `statistic` is given how often each cluster was drawn.
 * @param {number} clusters @param {(weights: Uint16Array) => number | undefined} statistic @param {number} seed @param {number} [samples]
 */
export function clusteredInterval(clusters, statistic, seed, samples = bootstrapSamples) {
  const random = randomOf(seed)
  const found = []
  const weights = new Uint16Array(clusters)
  for (let sample = 0; sample < samples; sample++) {
    weights.fill(0)
    for (let draw = 0; draw < clusters; draw++) weights[Math.floor(random() * clusters)]++
    const value = statistic(weights)
    if (value !== undefined && Number.isFinite(value)) found.push(value)
  }
  return found.length === 0 ? undefined : { low: quantile(found, 0.025), high: quantile(found, 0.975) }
}

/**
 * A ratio of two sums and its interval, clustered.
 * @param {readonly { cluster: string, part: number, whole: number }[]} rows @param {number} seed
 */
export function clusteredRatio(rows, seed) {
  const sums = new Map()
  for (const { cluster, part, whole } of rows) {
    const sum = sums.get(cluster) ?? sums.set(cluster, { part: 0, whole: 0 }).get(cluster)
    sum.part += part
    sum.whole += whole
  }
  const all = [...sums.values()]
  const ratio = (weightOf) => {
    let [part, whole] = [0, 0]
    for (const [index, sum] of all.entries()) {
      part += weightOf(index) * sum.part
      whole += weightOf(index) * sum.whole
    }
    return whole === 0 ? undefined : part / whole
  }
  const value = ratio(() => 1)
  return value === undefined ? undefined : { value, ...clusteredInterval(all.length, (weights) => ratio((index) => weights[index]), seed) }
}

/**
 * The chance that a failed run has a higher score than a solved one (ties count half), with its interval clustered by task. Undefined without runs of both kinds.
 * @param {readonly { score: number, failed: boolean, cluster: string }[]} rows @param {number} seed @param {number} [samples]
 */
export function areaOf(rows, seed, samples = 300) {
  const sorted = rows.filter(({ score }) => Number.isFinite(score)).toSorted((a, b) => a.score - b.score)
  const failures = sorted.filter(({ failed }) => failed).length
  if (failures === 0 || failures === sorted.length) return undefined
  const clusters = new Map()
  const clusterOf = sorted.map(({ cluster }) => clusters.get(cluster) ?? clusters.set(cluster, clusters.size).get(cluster))
  const area = (weights) => {
    let [solvedBelow, failed, pairs] = [0, 0, 0]
    for (let at = 0; at < sorted.length; ) {
      let [tiedSolved, tiedFailed] = [0, 0]
      const { score } = sorted[at]
      for (; at < sorted.length && sorted[at].score === score; at++)
        if (sorted[at].failed) tiedFailed += weights[clusterOf[at]]
        else tiedSolved += weights[clusterOf[at]]
      pairs += tiedFailed * (solvedBelow + tiedSolved / 2)
      solvedBelow += tiedSolved
      failed += tiedFailed
    }
    return failed === 0 || solvedBelow === 0 ? undefined : pairs / (failed * solvedBelow)
  }
  return { value: area(new Uint16Array(clusters.size).fill(1)), of: sorted.length, ...clusteredInterval(clusters.size, area, seed, samples) }
}

/** Columns with mean 0 and deviation 1, by the rows of the training alone. Values that are missing are the mean. */
function scalingOf(rows) {
  const width = rows[0].length
  const means = Array.from({ length: width }, (_, column) => {
    const known = rows.map((row) => row[column]).filter(Number.isFinite)
    return known.length === 0 ? 0 : known.reduce((sum, value) => sum + value, 0) / known.length
  })
  const deviations = means.map((mean, column) => {
    const squares = rows.reduce((sum, row) => sum + (Number.isFinite(row[column]) ? (row[column] - mean) ** 2 : 0), 0)
    return Math.sqrt(squares / rows.length) || 1
  })
  return (row) => row.map((value, column) => (Number.isFinite(value) ? (value - means[column]) / deviations[column] : 0))
}

/** Solves a symmetric system by elimination. Changes what it is given. */
function solved(matrix, right) {
  const size = right.length
  for (let pivot = 0; pivot < size; pivot++) {
    for (let row = pivot + 1; row < size; row++) {
      const factor = matrix[row][pivot] / matrix[pivot][pivot]
      for (let column = pivot; column < size; column++) matrix[row][column] -= factor * matrix[pivot][column]
      right[row] -= factor * right[pivot]
    }
  }
  for (let row = size - 1; row >= 0; row--) {
    for (let column = row + 1; column < size; column++) right[row] -= matrix[row][column] * right[column]
    right[row] /= matrix[row][row]
  }
  return right
}

/** A logistic regression with a ridge penalty, by Newton's method: gives what scores a row. @param {readonly (readonly number[])[]} rows @param {readonly boolean[]} labels */
export function logisticRegression(rows, labels, ridge = 5) {
  const scaled = scalingOf(rows)
  const inputs = rows.map((row) => [1, ...scaled(row)])
  const size = inputs[0].length
  let weights = new Array(size).fill(0)
  const scoreOf = (input) => input.reduce((sum, value, index) => sum + value * weights[index], 0)
  for (let round = 0; round < 12; round++) {
    const hessian = Array.from({ length: size }, (_, index) => Array.from({ length: size }, (_, other) => (index === other && index > 0 ? ridge : index === other ? 1e-9 : 0)))
    const gradient = weights.map((weight, index) => (index > 0 ? -ridge * weight : 0))
    for (const [at, input] of inputs.entries()) {
      const chance = 1 / (1 + Math.exp(-scoreOf(input)))
      const spread = chance * (1 - chance)
      for (let index = 0; index < size; index++) {
        gradient[index] += ((labels[at] ? 1 : 0) - chance) * input[index]
        for (let other = 0; other <= index; other++) hessian[index][other] += spread * input[index] * input[other]
      }
    }
    for (let index = 0; index < size; index++) for (let other = index + 1; other < size; other++) hessian[index][other] = hessian[other][index]
    const step = solved(hessian, gradient)
    weights = weights.map((weight, index) => weight + step[index])
    if (step.every((change) => Math.abs(change) < 1e-8)) break
  }
  return (row) => scoreOf([1, ...scaled(row)])
}

/** A decision tree of a few questions (Gini): gives the share of failures in the leaf of a row. @param {readonly (readonly number[])[]} rows @param {readonly boolean[]} labels */
export function decisionTree(rows, labels, depth = 3, smallestLeaf = 15) {
  const all = rows.map((_, index) => index)
  const grow = (indices, left) => {
    const failures = indices.filter((index) => labels[index]).length
    const leaf = () => (failures + 1) / (indices.length + 2)
    if (left === 0 || failures === 0 || failures === indices.length) return leaf
    const split = bestSplit(rows, labels, indices, failures, smallestLeaf)
    if (split === undefined) return leaf
    const { column, threshold } = split
    const isBelow = (row) => !(row[column] > threshold)
    const below = grow(indices.filter((index) => isBelow(rows[index])), left - 1)
    const above = grow(indices.filter((index) => !isBelow(rows[index])), left - 1)
    return (row) => (isBelow(row) ? below(row) : above(row))
  }
  return grow(all, depth)
}

function bestSplit(rows, labels, indices, failures, smallestLeaf) {
  const impurity = (failed, of) => (of === 0 ? 0 : (failed * (of - failed)) / of)
  let best
  for (let column = 0; column < rows[0].length; column++) {
    const valueOf = (index) => (Number.isFinite(rows[index][column]) ? rows[index][column] : -Infinity)
    const sorted = indices.toSorted((a, b) => valueOf(a) - valueOf(b))
    let failedBelow = 0
    for (let at = 0; at < sorted.length - 1; at++) {
      if (labels[sorted[at]]) failedBelow++
      const below = at + 1
      if (below < smallestLeaf || sorted.length - below < smallestLeaf) continue
      const threshold = valueOf(sorted[at])
      if (threshold === valueOf(sorted[at + 1])) continue
      const rest = impurity(failedBelow, below) + impurity(failures - failedBelow, sorted.length - below)
      if (best === undefined || rest < best.rest) best = { column, threshold, rest }
    }
  }
  return best
}

/** Each row's score by a classifier that saw no run of its task. @param {readonly { features: readonly number[], failed: boolean, cluster: string }[]} rows @param {(rows: number[][], labels: boolean[]) => (row: readonly number[]) => number} train @param {number} seed */
export function scoresByOthers(rows, train, seed, folds = 5) {
  const foldOf = new Map(shuffled([...new Set(rows.map(({ cluster }) => cluster))], randomOf(seed)).map((cluster, index) => [cluster, index % folds]))
  const scores = new Array(rows.length)
  for (let fold = 0; fold < folds; fold++) {
    const others = rows.filter(({ cluster }) => foldOf.get(cluster) !== fold)
    if (others.length === 0) continue
    const scoreOf = train(others.map(({ features }) => [...features]), others.map(({ failed }) => failed))
    for (const [index, { features, cluster }] of rows.entries()) if (foldOf.get(cluster) === fold) scores[index] = scoreOf(features)
  }
  return scores
}
