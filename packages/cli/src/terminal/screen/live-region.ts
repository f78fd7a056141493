import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import type { Row } from './row.ts'

/** The rows below the printed lines as they were last drawn, and the position of the cursor in them. */
export interface Region {
  readonly rows: readonly string[]
  readonly cursorRow: number
  /** The text before the cursor in its row; undefined while it is hidden. */
  readonly beforeCursor: string | undefined
}

/** Nothing is drawn; the cursor is where the region will start. */
export const emptyRegion: Region = { rows: [], cursorRow: 0, beforeCursor: undefined }

/** Wrapping is off while drawing: a character that the terminal counts as wider loses its end, but does not add a row. */
const begin = '\u001B[?2026h\u001B[?7l'
const end = '\u001B[?7h\u001B[?2026l'

export interface Drawing {
  readonly bytes: string
  readonly region: Region
}

/** The bytes that print lines above the region and update it; only changes are written (spec R-TERM-2). */
export function drawRegion(before: Region, printed: readonly string[], rows: readonly Row[], first = ''): Drawing {
  const texts = rows.map(({ text }) => text)
  const cursorRow = rows.findLastIndex(({ beforeCursor }) => beforeCursor !== undefined)
  const beforeCursor = rows[cursorRow]?.beforeCursor
  const pen = new Pen(before)
  for (const line of printed) pen.print(line)
  for (const [row, text] of texts.entries()) pen.write(row, text)
  pen.eraseFrom(texts.length)
  const isSame = pen.bytes === '' && before.cursorRow === cursorRow && before.beforeCursor === beforeCursor
  if (isSame || (pen.bytes === '' && cursorRow < 0 && before.beforeCursor === undefined)) {
    return { bytes: first, region: before }
  }
  pen.placeCursor(cursorRow, beforeCursor)
  const shows = (before.beforeCursor === undefined) === (beforeCursor === undefined) ? '' : cursorShown(beforeCursor)
  return {
    bytes: `${begin}${first}${pen.bytes}${shows}${end}`,
    region: { rows: texts, cursorRow: pen.row, beforeCursor },
  }
}

function cursorShown(beforeCursor: string | undefined): string {
  return beforeCursor === undefined ? '\u001B[?25l' : '\u001B[?25h'
}

/** Writes rows, and tracks the cursor row and the content of the rows below. Rows are counted from the first row of the region. */
class Pen {
  bytes = ''
  row: number
  /** The content of the rows on the screen. */
  #shown: string[]

  constructor({ rows, cursorRow }: Region) {
    this.#shown = [...rows]
    this.row = cursorRow
  }

  /** Prints a line permanently; the region starts below it. */
  print(line: string): void {
    this.#moveTo(0)
    this.bytes += this.#shown.length > 0 && this.#shown[0] !== '' ? `\u001B[K${line}\r\n` : `${line}\r\n`
    this.#shown.shift()
  }

  write(row: number, text: string): void {
    const before = this.#shown[row]
    if (before === text) return
    this.#moveTo(row)
    this.bytes += lineChange(before ?? '', text)
    this.#shown[row] = text
  }

  eraseFrom(row: number): void {
    if (this.#shown.length <= row) return
    this.#moveTo(row)
    this.bytes += '\u001B[J'
    this.#shown.length = row
  }

  placeCursor(row: number, before: string | undefined): void {
    // A hidden cursor is moved to the bottom row, because a terminal that shrinks keeps the row of its cursor.
    this.#moveTo(before === undefined ? Math.max(0, this.#shown.length - 1) : row)
    if (before === undefined) return
    // For text of known width the cursor moves; otherwise writing the text lets the terminal decide.
    if (!isAscii(before)) this.bytes += before
    else if (visibleWidth(before) > 0) this.bytes += `\u001B[${visibleWidth(before)}C`
  }

  /** Moves to the first column of a row. A missing row is created; at the bottom the terminal scrolls. */
  #moveTo(row: number): void {
    const last = Math.max(0, this.#shown.length - 1)
    const there = Math.min(row, last)
    if (there < this.row) this.bytes += `\u001B[${this.row - there}A`
    else if (there > this.row) this.bytes += `\u001B[${there - this.row}B`
    this.bytes += `\r${'\n'.repeat(row - there)}`
    this.row = row
    while (this.#shown.length < row) this.#shown.push('')
  }
}

/** The bytes that change a line, from its first column. */
function lineChange(before: string, text: string): string {
  // Text was appended, which is the most common change while streaming.
  if (before !== '' && text.startsWith(before) && isPlainAscii(before)) {
    return `\u001B[${before.length}C${text.slice(before.length)}`
  }
  return before === '' ? text : `\u001B[K${text}`
}

function isPlainAscii(text: string): boolean {
  return /^[\u0020-\u007E]*$/.test(text)
}

/** Whether a text is ASCII, ignoring colours. */
function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- colours are left out
  return isPlainAscii(text.replaceAll(/\u001B\[[\d;:]*m/g, ''))
}
