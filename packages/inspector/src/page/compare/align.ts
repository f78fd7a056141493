/** The calls of a turn, by which turns are aligned. */
export interface AlignableTurn {
  readonly calls: readonly { readonly tool: string; readonly label: string }[]
}

/** Two aligned turns, by index; null when only one side has a turn. */
export interface Pair {
  readonly first: number | null
  readonly second: number | null
  readonly kind: 'same' | 'changed' | 'only-first' | 'only-second'
}

export interface Alignment {
  readonly pairs: readonly Pair[]
  /** The number of turns per piece if the runs were too long to align as a whole; null otherwise. */
  readonly pieces: number | null
}

/** The maximum size of one table: 9 MB, and a quarter of a second. */
const maxCells = 2_250_000
const pieceTurns = 1_500

const same = 1_000
/** Similarity of two calls of the same tool with different inputs, in thousandths. */
const sameTool = 250

/**
 * Aligns the turns of two runs: the pairs, in order, whose calls agree most. Calls of a turn may run in parallel, so their order does not matter. The
 * result is symmetric.
 */
export function alignTurns(
  first: readonly AlignableTurn[],
  second: readonly AlignableTurn[],
  cells: number = maxCells,
  piece: number = pieceTurns,
): Alignment {
  const ids = new Map<string, number>()
  const one = first.map((turn) => toKey(turn, ids))
  const other = second.map((turn) => toKey(turn, ids))
  // Equal turns at both ends are paired in any optimal alignment, so they need no table.
  const shorter = Math.min(one.length, other.length)
  let head = 0
  while (head < shorter && similarity(one[head], other[head]) === same) head++
  let tail = 0
  while (tail < shorter - head && similarity(one.at(-1 - tail), other.at(-1 - tail)) === same) tail++
  const middle = [one.length - tail - head, other.length - tail - head] as const
  const isWhole = middle[0] * middle[1] <= cells
  const matched: (readonly [number, number])[] = range(head).map((index) => [index, index])
  const step = isWhole ? Math.max(...middle, 1) : piece
  for (let from = 0; from < Math.max(...middle); from += step) {
    const ofOne = one.slice(head, one.length - tail).slice(from, from + step)
    const ofOther = other.slice(head, other.length - tail).slice(from, from + step)
    for (const [i, j] of bestPairs(ofOne, ofOther)) matched.push([head + from + i, head + from + j])
  }
  matched.push(...range(tail).map((index) => [one.length - tail + index, other.length - tail + index] as const))
  return { pairs: withGaps(matched, one, other), pieces: isWhole ? null : piece }
}

interface TurnKey {
  /** The calls of a turn as sorted numbers: one number for each tool with its input. */
  readonly labels: readonly number[]
  readonly tools: readonly number[]
  /** Breaks ties, in the same way for both sides. */
  readonly text: string
}

function toKey({ calls }: AlignableTurn, ids: Map<string, number>): TurnKey {
  const numbered = (text: string): number => {
    const known = ids.get(text) ?? ids.size
    ids.set(text, known)
    return known
  }
  const labels = calls.map(({ tool, label }) => `${tool}\n${label}`)
  return {
    labels: labels.map(numbered).toSorted((a, b) => a - b),
    tools: calls.map(({ tool }) => numbered(tool)).toSorted((a, b) => a - b),
    text: labels.toSorted().join('\n\n'),
  }
}

/** Similarity in thousandths. Two turns without calls are answers, and count as equal. */
function similarity(a: TurnKey | undefined, b: TurnKey | undefined): number {
  if (a === undefined || b === undefined) return 0
  const calls = a.labels.length + b.labels.length
  if (calls === 0) return same
  if (a.labels.length === 0 || b.labels.length === 0) return 0
  const shared = sharedBy(a.labels, b.labels)
  const alike = sharedBy(a.tools, b.tools) - shared
  return Math.floor((2 * (same * shared + sameTool * alike)) / calls)
}

/** Size of the intersection of two sorted lists, with multiplicity. */
function sharedBy(a: readonly number[], b: readonly number[]): number {
  let count = 0
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    const difference = (a[i] ?? 0) - (b[j] ?? 0)
    if (difference === 0) count++
    if (difference <= 0) i++
    if (difference >= 0) j++
  }
  return count
}

/** The pairs in order that agree most. Ties are broken so that the result is symmetric. */
function bestPairs(one: readonly TurnKey[], other: readonly TurnKey[]): readonly (readonly [number, number])[] {
  const width = other.length + 1
  const best = new Int32Array((one.length + 1) * width)
  const at = (i: number, j: number): number => best[i * width + j] ?? 0
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      const paired = at(i + 1, j + 1) + similarity(one[i], other[j])
      best[i * width + j] = Math.max(paired, at(i + 1, j), at(i, j + 1))
    }
  }
  const pairs: (readonly [number, number])[] = []
  let i = 0
  let j = 0
  while (i < one.length && j < other.length) {
    const likeness = similarity(one[i], other[j])
    if (likeness > 0 && at(i, j) === at(i + 1, j + 1) + likeness) {
      pairs.push([i++, j++])
      continue
    }
    const [down, right] = [at(i + 1, j), at(i, j + 1)]
    // Turns at this position differ, otherwise they would be a pair. Their texts decide the order, independent of the side.
    const leavesFirst = down === right ? (one[i]?.text ?? '') < (other[j]?.text ?? '') : down > right
    if (leavesFirst) i++
    else j++
  }
  return pairs
}

/** Adds the turns between the pairs: those of the first side come first. */
function withGaps(
  matched: readonly (readonly [number, number])[],
  one: readonly TurnKey[],
  other: readonly TurnKey[],
): readonly Pair[] {
  const pairs: Pair[] = []
  let i = 0
  let j = 0
  for (const [first, second] of [...matched, [one.length, other.length] as const]) {
    while (i < first) pairs.push({ first: i++, second: null, kind: 'only-first' })
    while (j < second) pairs.push({ first: null, second: j++, kind: 'only-second' })
    if (first === one.length || second === other.length) continue
    const kind = similarity(one[first], other[second]) === same ? 'same' : 'changed'
    pairs.push({ first, second, kind })
    i = first + 1
    j = second + 1
  }
  return pairs
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index)
}
