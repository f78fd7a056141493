/** Selects the lines that still show the disagreement. */
export type FindStill = (lines: readonly string[]) => Promise<readonly boolean[]>

const maxRounds = 60
const maxAtOnce = 150

/** The line, reduced as far as possible while it still shows the disagreement. */
export async function shrink(line: string, findStill: FindStill): Promise<string> {
  let smallest = line
  let size = Math.ceil(line.length / 2)
  for (let round = 0; round < maxRounds; round += 1) {
    const candidates = withoutPieces(smallest, size)
    const still = await findStill(candidates)
    const better = candidates[still.indexOf(true)]
    if (better !== undefined) smallest = better
    else if (size === 1) break
    if (better === undefined || size > smallest.length)
      size = Math.max(1, Math.min(Math.floor(size / 2), smallest.length))
  }
  return smallest
}

/** The line without each piece of this length; for single characters also without pairs around something. */
function withoutPieces(line: string, size: number): readonly string[] {
  const step = Math.max(1, Math.floor(size / 2), Math.ceil(line.length / maxAtOnce))
  const found = new Set<string>()
  for (let at = 0; at < line.length; at += step) found.add(line.slice(0, at) + line.slice(at + size))
  if (size === 1)
    for (let at = 0; at < line.length; at += 1)
      for (let end = at + 2; end < line.length && found.size < 2 * maxAtOnce; end += 1)
        if (isPair(line[at], line[end])) found.add(line.slice(0, at) + line.slice(at + 1, end) + line.slice(end + 1))
  found.delete(line)
  return [...found]
}

const pairs: Readonly<Record<string, string>> = { '(': ')', '{': '}', '[': ']', '"': '"', "'": "'", '`': '`', ';': ';' }

function isPair(first = '', last = ''): boolean {
  return pairs[first] === last
}
