// Checks that the figures of the rounds do not grow.

/** @param {readonly number[]} values */
function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Rounds in which caches fill and code is compiled: the medians leave them out. */
export const warmUp = 2

/**
 * How much more the last third of the rounds has than the first, by their medians. Undefined if there are too few rounds.
 * @param {readonly number[]} values one per round
 */
export function growth(values) {
  const counted = values.slice(warmUp)
  const third = Math.floor(counted.length / 3)
  if (third < 1) return undefined
  return median(counted.slice(-third)) - median(counted.slice(0, third))
}

/** Megabytes by which the medians may differ: code and caches of Node still grow after the first rounds. */
const maxGrowth = { heldMb: 6, rssMb: 64 }

/**
 *
 * @param {readonly { readonly heldMb: number, readonly rssMb: number }[]} rounds
 * @returns {readonly string[]} what grew
 */
export function memoryProblems(rounds) {
  return Object.entries(maxGrowth).flatMap(([name, most]) => {
    const grown = growth(rounds.map((round) => round[name])) ?? 0
    return grown <= most ? [] : [`memory is not flat: ${name} grew by ${grown.toFixed(1)}, more than ${most}`]
  })
}
