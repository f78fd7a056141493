import type { PatchHunk } from '@halting/policy/files'

/** How closely the lines of a hunk match the lines of the file. */
type Exactness = 'exact' | 'line ends' | 'blanks' | 'punctuation'

/** The position of a hunk that does not match exactly. Counted from 1. */
export interface InexactPlace {
  readonly hunk: number
  readonly line: number
  readonly ignored: Exclude<Exactness, 'exact'>
}

/** Why a hunk cannot be placed. Hunks and lines are counted from 1. */
export type Misplaced = {
  readonly hunk: number
} & (
  | { readonly kind: 'no anchor'; readonly anchor: string }
  | { readonly kind: 'not found'; readonly old: readonly string[] }
  /** The hunk's lines are in the file, but above the previous hunk. */
  | { readonly kind: 'unordered'; readonly line: number }
  | { readonly kind: 'elsewhere'; readonly old: readonly string[] }
  | { readonly kind: 'several'; readonly lines: readonly number[]; readonly count: number }
  | { readonly kind: 'nothing changed' }
)

/** The text with all hunks applied, or the first one that cannot be placed. */
export type Patched =
  | {
      readonly kind: 'patched'
      readonly text: string
      readonly inexact: readonly InexactPlace[]
      /** The first changed line, counted from 1. */
      readonly firstLine: number
    }
  | { readonly kind: 'misplaced'; readonly why: Misplaced }

interface FileLine {
  readonly text: string
  /** The line end; empty for a last line without one, undefined for a line that the patch adds. */
  readonly end: string | undefined
}

interface Place {
  readonly at: number
  readonly exactness: Exactness
}

/**
 * Applies hunks to a text, from top to bottom. Lines outside the hunks and context lines stay byte for byte. Added
 * lines end like their neighbours, and the last line has a line end if it had one before.
 */
export function patchedText(text: string, hunks: readonly PatchHunk[]): Patched {
  const lines = linesOf(text)
  const file = new SearchedLines(lines.map((line) => line.text))
  // Appends line by line: as arguments of one call, the lines of a large file would not fit on the stack.
  const result: FileLine[] = []
  const inexact: InexactPlace[] = []
  let [copied, firstLine] = [0, 0]
  for (const [index, hunk] of hunks.entries()) {
    const place = placeOf(file, hunk, copied)
    if (!('at' in place)) return { kind: 'misplaced', why: { ...place, hunk: index + 1 } }
    const { at, exactness } = place
    for (const line of lines.slice(copied, at)) result.push(line)
    if (firstLine === 0) firstLine = result.length + 1
    if (exactness !== 'exact') inexact.push({ hunk: index + 1, line: at + 1, ignored: exactness })
    copied = at
    for (const line of placedLines(file, hunk, at)) {
      const old = lines[copied]
      if (line.sign === '+') result.push({ text: line.text, end: undefined })
      else if (line.sign === ' ' && old !== undefined) result.push(old)
      if (line.sign !== '+') copied += 1
    }
  }
  for (const line of lines.slice(copied)) result.push(line)
  return { kind: 'patched', text: joined(result, lines), inexact, firstLine: Math.max(1, firstLine) }
}

function linesOf(text: string): readonly FileLine[] {
  return (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).map((line) => {
    const end = line.endsWith('\r\n') ? '\r\n' : line.endsWith('\n') ? '\n' : ''
    return { text: line.slice(0, line.length - end.length), end }
  })
}

function joined(result: readonly FileLine[], before: readonly FileLine[]): string {
  const usual = before.find(({ end }) => end !== '')?.end ?? '\n'
  const isOpen = before.at(-1)?.end === ''
  let [text, previous] = ['', usual]
  for (const [index, line] of result.entries()) {
    const end = line.end === undefined || line.end === '' ? previous : line.end
    text += line.text + (isOpen && index === result.length - 1 ? '' : end)
    previous = end
  }
  return text
}

/** The lines of a file in the form for each degree of exactness. */
class SearchedLines {
  readonly lines: readonly string[]
  readonly #folded = new Map<Exactness, readonly string[]>()

  constructor(lines: readonly string[]) {
    this.lines = lines
  }

  /** Positions of these consecutive lines, from a line on. */
  places(searched: readonly string[], from: number, exactness: Exactness): readonly number[] {
    const fold = folds[exactness]
    const lines = this.#folded.get(exactness) ?? this.lines.map(fold)
    this.#folded.set(exactness, lines)
    const folded = searched.map(fold)
    const found: number[] = []
    for (let at = from; at + folded.length <= lines.length; at += 1)
      if (folded.every((line, index) => lines[at + index] === line)) found.push(at)
    return found
  }
}

const folds: Readonly<Record<Exactness, (line: string) => string>> = {
  exact: (line) => line,
  'line ends': (line) => line.trimEnd(),
  blanks: (line) => line.trim(),
  punctuation: (line) =>
    line
      .trim()
      .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
      .replaceAll(/[\u2018-\u201B]/g, "'")
      .replaceAll(/[\u201C-\u201F]/g, '"')
      .replaceAll(/[\u00A0\u2002-\u200A\u202F\u205F\u3000]/g, ' '),
}

const degrees = ['exact', 'line ends', 'blanks', 'punctuation'] as const

/** Returns the matches of the first degree of exactness that has any. */
function firstPlaces(
  file: SearchedLines,
  searched: readonly string[],
  from: number,
): { readonly places: readonly number[]; readonly exactness: Exactness } | undefined {
  for (const exactness of degrees) {
    const places = file.places(searched, from, exactness)
    if (places.length > 0) return { places, exactness }
  }
  return undefined
}

type Reason<Why = Misplaced> = Why extends Misplaced ? Omit<Why, 'hunk'> : never

function placeOf(file: SearchedLines, hunk: PatchHunk, from: number): Place | Reason {
  if (hunk.lines.every(({ sign }) => sign === ' ')) return { kind: 'nothing changed' }
  const old = oldLines(hunk)
  let start = from
  for (const anchor of hunk.anchors) {
    const found = firstPlaces(file, [anchor], start)?.places[0]
    if (found === undefined) {
      // If the lines themselves match at one position, the anchor is not needed.
      const without = old.length === 0 ? undefined : placeOf(file, { ...hunk, anchors: [] }, from)
      return without !== undefined && 'at' in without ? without : { kind: 'no anchor', anchor }
    }
    start = found + 1
  }
  if (old.length === 0) return { at: hunk.anchors.length > 0 ? start : file.lines.length, exactness: 'exact' }
  if (hunk.isAtEnd) return placeAtEnd(file, old, start)
  // The anchor's line may also be the first line of the hunk.
  const found = firstPlaces(file, old, start) ?? (start > from ? firstPlaces(file, old, start - 1) : undefined)
  const [first, ...others] = found?.places ?? []
  if (found === undefined || first === undefined) {
    const above = firstPlaces(file, old, 0)?.places[0]
    if (above !== undefined && above < from) return { kind: 'unordered', line: above + 1 }
    // Some models write an empty line for the end of the file.
    return old.length > 1 && old.at(-1) === '' ? placeAtEnd(file, old.slice(0, -1), start) : { kind: 'not found', old }
  }
  if (others.length > 0 && hunk.anchors.length === 0)
    return { kind: 'several', lines: found.places.slice(0, 5).map((at) => at + 1), count: found.places.length }
  return { at: first, exactness: found.exactness }
}

function placeAtEnd(file: SearchedLines, old: readonly string[], from: number): Place | Reason {
  const at = file.lines.length - old.length
  const found = at < from ? undefined : firstPlaces(file, old, at)
  return found === undefined ? { kind: 'elsewhere', old } : { at, exactness: found.exactness }
}

function oldLines({ lines }: PatchHunk): readonly string[] {
  return lines.flatMap(({ sign, text }) => (sign === '+' ? [] : [text]))
}

/** Returns the lines of a hunk that exist: an empty line after the last line of the file does not exist. */
function placedLines(file: SearchedLines, hunk: PatchHunk, at: number): PatchHunk['lines'] {
  const missing = at + oldLines(hunk).length - file.lines.length
  if (missing <= 0) return hunk.lines
  const last = hunk.lines.findLastIndex(({ sign }) => sign !== '+')
  return hunk.lines.filter((_, index) => index !== last)
}
