import { isJsonObject } from '@halting/core/adapters'
import { columnsOf } from '../../io/columns.ts'
import type { Style } from '../../io/style.ts'
import { foldedLines, headOfLines } from './lines.ts'

/** Removed, added and unchanged lines (`-`, `+`, ` `), with the line number of the first one; null if unknown. */
export interface Hunk {
  readonly oldStart: number | null
  readonly newStart: number | null
  readonly lines: readonly string[]
}

/** The hunks in a structured result of Edit or Write; none if it has none. */
export function hunksOf(details: unknown): readonly Hunk[] {
  if (!isJsonObject(details) || !Array.isArray(details['structuredPatch'])) return []
  return (details['structuredPatch'] as readonly unknown[]).flatMap((hunk) => {
    if (!isJsonObject(hunk) || !Array.isArray(hunk['lines'])) return []
    const [oldStart, newStart] = [hunk['oldStart'], hunk['newStart']].map(numberOrNull)
    return [{ oldStart: oldStart ?? null, newStart: newStart ?? null, lines: hunk['lines'].map(String) }]
  })
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

/** The difference of two texts for a question, without line numbers. */
export function hunkOfTexts(
  before: string,
  after: string,
): Hunk & {
  /** Common lines at the beginning that are left out. */
  readonly skipped: number
} {
  const [old, now] = [linesOf(before), linesOf(after)]
  let [head, tail] = [0, 0]
  const most = Math.min(old.length, now.length)
  while (head < most && old[head] === now[head]) head += 1
  while (tail < most - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1
  const around = 2
  const unchanged = (lines: readonly string[]): readonly string[] => lines.map((line) => ` ${line}`)
  return {
    skipped: Math.max(0, head - around),
    oldStart: null,
    newStart: null,
    lines: [
      ...unchanged(old.slice(Math.max(0, head - around), head)),
      ...old.slice(head, old.length - tail).map((line) => `-${line}`),
      ...now.slice(head, now.length - tail).map((line) => `+${line}`),
      ...unchanged(old.slice(old.length - tail, old.length - tail + around)),
    ],
  }
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

/** `+3 −1`. */
export function changeCount(added: number, removed: number): string {
  return `+${added} −${removed}`
}

export function countOf(hunks: readonly Hunk[]): string {
  const count = (sign: string): number =>
    hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.startsWith(sign)).length, 0)
  return changeCount(count('+'), count('-'))
}

interface DiffOptions {
  readonly width: number
  readonly style: Style
  /** The maximum number of lines. */
  readonly most: number
}

const indent = '    '
/** Unchanged lines shown around each change. */
const context = 2

/** A change with line numbers, signs and text (spec R-TERM-21). */
export function diffLines(hunks: readonly Hunk[], { width, style, most }: DiffOptions): readonly string[] {
  const rows = hunks.flatMap((hunk, index) => [...(index === 0 ? [] : [undefined]), ...rowsOf(hunk)])
  const digits = Math.max(0, ...rows.map((row) => (row?.number === undefined ? 0 : String(row.number).length)))
  const shown = rows.flatMap((row) => {
    if (row === undefined) return [style.dim(`${indent}⋮`)]
    const number = digits === 0 ? '' : `${String(row.number ?? '').padStart(digits)} `
    const before = `${indent}${number}${row.sign} `
    const paint = row.sign === '+' ? style.green : row.sign === '-' ? style.red : style.dim
    const room = width - columnsOf(before)
    if (room < 4) return [paint(foldedLines(`${row.sign} ${row.text}`, width)[0] ?? '')]
    return foldedLines(row.text, room).map((line, index) =>
      paint((index === 0 ? before : ' '.repeat(columnsOf(before))) + line),
    )
  })
  if (shown.length <= most) return shown
  const lines = headOfLines(shown, most, width - indent.length)
  return [...lines.slice(0, -1), style.dim(indent + (lines.at(-1) ?? ''))]
}

interface Row {
  readonly number: number | undefined
  readonly sign: string
  readonly text: string
}

function rowsOf({ oldStart, newStart, lines }: Hunk): readonly Row[] {
  let [old, now] = [oldStart, newStart]
  const rows: Row[] = lines
    // `\ No newline at end of file` is not a line.
    .filter((line) => !line.startsWith('\\'))
    .map((line) => {
      const sign = line.startsWith('+') || line.startsWith('-') ? line.slice(0, 1) : ' '
      const number = (sign === '-' ? old : now) ?? undefined
      if (sign !== '+' && old !== null) old += 1
      if (sign !== '-' && now !== null) now += 1
      return { number, sign, text: line.slice(1) }
    })
  const isNear = (index: number): boolean =>
    rows.slice(Math.max(0, index - context), index + context + 1).some(({ sign }) => sign !== ' ')
  return rows.filter((_row, index) => isNear(index))
}
