/** The outcome of replacing one text with another within a third text. */
export type Replaced =
  | { readonly kind: 'replaced'; readonly text: string; readonly count: number; readonly firstLine: number }
  | { readonly kind: 'not found' }
  /** The text occurs more than once, but only one occurrence was meant. Lines are 1-based. */
  | { readonly kind: 'ambiguous'; readonly count: number; readonly lines: readonly number[] }

/**
 * Replaces text in a file with any line ends: the model writes `\n`, and the file keeps its own. R1: bytes outside the
 * replaced places do not change, even in a file with mixed line ends. R2: nothing is replaced unless the text occurs
 * exactly once, or all occurrences were requested.
 */
export function replaceIn(
  text: string,
  { oldText, newText, all }: { readonly oldText: string; readonly newText: string; readonly all: boolean },
): Replaced {
  // The file is empty, so the new text becomes the whole content.
  if (oldText === '' && text === '') return { kind: 'replaced', text: newText, count: 1, firstLine: 1 }
  const plain = toPlainEnds(text)
  const plainOld = toPlainEnds(oldText)
  const places = placesOf(plain, plainOld)
  if (places.length === 0) return { kind: 'not found' }
  const lineAt = (place: number): number => plain.slice(0, place).split('\n').length
  if (places.length > 1 && !all) {
    return { kind: 'ambiguous', count: places.length, lines: places.slice(0, 5).map(lineAt) }
  }
  const original = originalPositions(text)
  const plainNew = toPlainEnds(newText)
  let result = ''
  let copied = 0
  for (const place of places) {
    const start = original(place)
    const end = original(place + plainOld.length)
    result += text.slice(copied, start) + withEndsLike(plainNew, text.slice(start, end), text)
    copied = end
  }
  const [first = 0] = places
  return { kind: 'replaced', text: result + text.slice(copied), count: places.length, firstLine: lineAt(first) }
}

function toPlainEnds(text: string): string {
  return text.includes('\r\n') ? text.replaceAll('\r\n', '\n') : text
}

function placesOf(text: string, part: string): readonly number[] {
  if (part === '') return []
  const places: number[] = []
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) places.push(at)
  return places
}

/**
 * Maps positions in the text with plain line ends to positions in the text itself. Positions must be requested in
 * ascending order.
 */
function originalPositions(text: string): (plainPosition: number) => number {
  let removed = 0
  let nextPair = text.indexOf('\r\n')
  return (plainPosition) => {
    // The pair at `nextPair` is at `nextPair - removed` in the plain text; after it, one more was removed.
    while (nextPair !== -1 && plainPosition > nextPair - removed) {
      removed += 1
      nextPair = text.indexOf('\r\n', nextPair + 2)
    }
    return plainPosition + removed
  }
}

/** Uses the line ends of the replaced text; if it has none, those at the beginning of the file. */
function withEndsLike(plain: string, replaced: string, file: string): string {
  const model = replaced.includes('\n') ? replaced : file
  const firstEnd = model.indexOf('\n')
  return firstEnd > 0 && model[firstEnd - 1] === '\r' ? plain.replaceAll('\n', '\r\n') : plain
}
