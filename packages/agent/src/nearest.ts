/**
 * Returns the candidate that was probably meant; undefined if none is close.
 * @param most Maximum number of differing letters (default: a third of the letters, at least 2).
 */
export function nearest(
  name: string,
  candidates: readonly string[],
  most: number = Math.max(2, Math.floor(name.length / 3)),
): string | undefined {
  let best: string | undefined
  let least = Infinity
  for (const candidate of candidates) {
    const steps = distance(name.toLowerCase(), candidate.toLowerCase())
    if (steps < least) [best, least] = [candidate, steps]
  }
  return least <= most ? best : undefined
}

/** Edit distance: insertions, deletions, substitutions, and swaps of neighbours. */
function distance(from: string, to: string): number {
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const changed = from[row - 1] === to[column - 1] ? 0 : 1
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + changed,
        swapped ? at(beforeLast, column - 2) + 1 : Infinity,
      )
    }
    ;[beforeLast, last] = [last, current]
  }
  return at(last, to.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity
}
