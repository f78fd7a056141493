/** What turns are aligned by: what they called, each call as a tool and what it was asked. */
export interface AlignedBy {
  readonly calls: readonly { readonly tool: string; readonly label: string }[]
}

/** Two turns side by side, by their places; null where only one side has one. */
export interface Pair {
  readonly first: number | null
  readonly second: number | null
  readonly kind: 'same' | 'changed' | 'only-first' | 'only-second'
}

export interface Alignment {
  readonly pairs: readonly Pair[]
  /** Too long to align as a whole: pieces of this many turns were aligned, each by itself. Null for one that is whole. */
  readonly pieces: number | null
}

/** Most cells of one table: 9 MB, and a quarter of a second. */
const mostCells = 2_250_000
const pieceTurns = 1_500

const same = 1_000
/** Of a call of the same tool that was asked something else, in thousandths of one that is the same. */
const sameTool = 250

/**
 * Which turn of one run stands beside which turn of another: the pairs whose calls agree most together, in order. The same calls in another order are the same,
 * since calls of one turn may run beside each other. Symmetric: the sides may be exchanged.
 */
export function aligned(
  first: readonly AlignedBy[],
  second: readonly AlignedBy[],
  cells: number = mostCells,
  piece: number = pieceTurns,
): Alignment {
  const ids = new Map<string, number>()
  const one = first.map((turn) => toKey(turn, ids))
  const other = second.map((turn) => toKey(turn, ids))
  // What agrees at both ends needs no table: it is paired in any best alignment.
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
  /** Numbers of its calls, ascending; one number for a tool with what it was asked. */
  readonly labels: readonly number[]
  readonly tools: readonly number[]
  /** To break ties by, the same from either side. */
  readonly text: string
}

function toKey({ calls }: AlignedBy, ids: Map<string, number>): TurnKey {
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

/** In thousandths. Two turns without calls are two answers, and the same. */
function similarity(a: TurnKey | undefined, b: TurnKey | undefined): number {
  if (a === undefined || b === undefined) return 0
  const calls = a.labels.length + b.labels.length
  if (calls === 0) return same
  if (a.labels.length === 0 || b.labels.length === 0) return 0
  const shared = sharedBy(a.labels, b.labels)
  const alike = sharedBy(a.tools, b.tools) - shared
  return Math.floor((2 * (same * shared + sameTool * alike)) / calls)
}

/** How many numbers two ascending lists share, each as often as both have it. */
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

/** The pairs in order that agree most together. Of several that agree as much, the one that either side would choose. */
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
    // Turns that stand here differ, else they were a pair: their texts decide, whichever side is the first.
    const leavesFirst = down === right ? (one[i]?.text ?? '') < (other[j]?.text ?? '') : down > right
    if (leavesFirst) i++
    else j++
  }
  return pairs
}

/** With what stands between the pairs: of each gap first what only the first side has. */
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
