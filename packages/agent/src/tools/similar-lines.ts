/** The position of the most similar lines. */
export interface Similar {
  /** Line number, counted from 0. */
  readonly line: number
  readonly sameLines: number
}

/** A line that occurs more often does not identify a position. */
const maxOccurrences = 50
const maxLines = 200_000

/**
 * Returns the position in a file with most of these lines; otherwise the position of the line most similar to the
 * longest of them; undefined if there is none.
 */
export function closestLines(lines: readonly string[], searched: readonly string[]): Similar | undefined {
  if (lines.length > maxLines) return undefined
  return placeOfMost(lines, searched) ?? placeOfLikest(lines, searched)
}

function placeOfMost(lines: readonly string[], searched: readonly string[]): Similar | undefined {
  const places = new Map<string, number[]>()
  for (const [at, line] of lines.entries()) {
    const key = line.trim()
    if (key.length < 3) continue
    const known = places.get(key)
    if (known === undefined) places.set(key, [at])
    else if (known.length <= maxOccurrences) known.push(at)
  }
  const votes = new Map<number, number>()
  for (const [index, line] of searched.entries()) {
    const known = places.get(line.trim()) ?? []
    if (known.length > maxOccurrences) continue
    for (const at of known) votes.set(Math.max(0, at - index), (votes.get(Math.max(0, at - index)) ?? 0) + 1)
  }
  let [best, most] = [-1, 0]
  for (const [line, count] of votes) if (count > most) [best, most] = [line, count]
  if (best === -1) return undefined
  return { line: best, sameLines: searched.filter((line, index) => line === lines[best + index]).length }
}

/** Minimum share of equal letter pairs. */
const leastAlike = 0.5

function placeOfLikest(lines: readonly string[], searched: readonly string[]): Similar | undefined {
  const longest = searched.reduce(
    (best, line, index) => (line.trim().length > (searched[best] ?? '').trim().length ? index : best),
    0,
  )
  const pairs = pairsOf(searched[longest] ?? '')
  if (pairs.size === 0) return undefined
  let [best, alike] = [-1, leastAlike]
  for (const [at, line] of lines.entries()) {
    const others = pairsOf(line)
    let shared = 0
    for (const pair of pairs) if (others.has(pair)) shared += 1
    const share = (2 * shared) / (pairs.size + others.size)
    if (share > alike) [best, alike] = [at, share]
  }
  return best === -1 ? undefined : { line: Math.max(0, best - longest), sameLines: 0 }
}

function pairsOf(line: string): ReadonlySet<string> {
  const text = line.trim().toLowerCase().slice(0, 300)
  const pairs = new Set<string>()
  for (let at = 0; at + 1 < text.length; at += 1) pairs.add(text.slice(at, at + 2))
  return pairs
}
