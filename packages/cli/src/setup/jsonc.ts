/** What a JSON text with comments and commas too many says; undefined for what is none. One pass, whatever it holds. */
export function parsedJsonc(text: string): unknown {
  const pieces: string[] = []
  let at = 0
  while (at < text.length) {
    const from = at
    at = endOfPiece(text, at)
    const piece = text.slice(from, at)
    const isComment = piece.startsWith('//') || piece.startsWith('/*')
    const last = pieces.length - 1
    // A comma before the end of what it stands in is dropped there.
    if (piece === '}' || piece === ']') pieces[last] = withoutLastComma(pieces[last] ?? '')
    if (!isComment && piece.trim() !== '') pieces.push(piece)
  }
  try {
    return JSON.parse(pieces.join('').replace(/^\uFEFF/, '')) as unknown
  } catch {
    return undefined
  }
}

/** Behind the text, the comment, the mark or the run of other characters that begins here. */
function endOfPiece(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return endOfText(text, start)
  if (text.startsWith('//', start)) return endAt(text.indexOf('\n', start), text)
  if (text.startsWith('/*', start)) return endAt(text.indexOf('*/', start + 2), text, 2)
  if (first === '}' || first === ']' || first === '/') return start + 1
  let end = start + 1
  while (end < text.length && !'"}]/'.includes(text.charAt(end))) end++
  return end
}

function withoutLastComma(piece: string): string {
  const trimmed = piece.trimEnd()
  return trimmed.endsWith(',') && !trimmed.startsWith('"') ? trimmed.slice(0, -1) : piece
}

function endOfText(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function endAt(found: number, text: string, more = 0): number {
  return found < 0 ? text.length : found + more
}
