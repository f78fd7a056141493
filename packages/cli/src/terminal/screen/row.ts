import { CURSOR_MARKER } from '@earendil-works/pi-tui/dist/tui.js'
import { truncateToWidth, visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import { stripToColours } from './strip.ts'

/** One row of the terminal, ready to write: sanitized, truncated to the width, without trailing spaces, and with its colours reset. */
export interface Row {
  readonly text: string
  /** The text before the cursor, if the cursor is in this row. */
  readonly beforeCursor: string | undefined
}

const off = '\u001B[0m'
// oxlint-disable-next-line no-control-regex -- sequences of colours are what is looked for
const controls = /[\u0000-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/

export function rowOf(line: string, width: number): Row {
  const at = line.indexOf(CURSOR_MARKER)
  if (at < 0) return { text: rowText(line, width), beforeCursor: undefined }
  const before = rowText(line.slice(0, at), width)
  // The editor draws its own cursor at this position. The terminal cursor replaces it, because input methods and screen
  // readers follow the terminal cursor.
  // oxlint-disable-next-line no-control-regex -- the editor's inverse character
  const after = line.slice(at + CURSOR_MARKER.length).replace(/^\u001B\[7m(.*?)\u001B\[0m/s, '$1')
  // Spaces before the cursor are kept.
  return {
    text: rowText(line.slice(0, at) + after, width),
    beforeCursor: padToCursor(before, line.slice(0, at), width),
  }
}

export function rowText(line: string, width: number): string {
  if (!controls.test(line)) return withoutEndSpaces(fitting(line, width))
  const plainLine = stripToColours(line).replaceAll('\n', ' ')
  const fits = withoutEndSpaces(fitting(plainLine, width))
  return !fits.includes('\u001B') || fits.endsWith(off) ? fits : `${fits}${off}`
}

function padToCursor(text: string, full: string, width: number): string {
  return text + ' '.repeat(Math.max(0, Math.min(width, visibleWidth(full)) - visibleWidth(text)))
}

function fitting(text: string, width: number): string {
  return text.length <= width || visibleWidth(text) <= width ? text : truncateToWidth(text, width, '…')
}

/** Removes trailing spaces, also those before a colour reset. Visible ones stay: inverse, underlined, or with a background. */
function withoutEndSpaces(text: string): string {
  if (!text.includes('\u001B')) return text.trimEnd()
  // oxlint-disable-next-line no-control-regex -- colours may stand behind the spaces
  const end = /(?: |\u001B\[[\d;:]*m)*$/.exec(text)
  if (end === null || !end[0].includes(' ')) return text
  const visible = text.slice(0, end.index)
  return showsSpaces(text.slice(0, end.index + end[0].indexOf(' '))) ? text : visible + end[0].replaceAll(' ', '')
}

/** Whether a space after this text would be visible: inverse, underlined, struck through, or on a background. */
function showsSpaces(text: string): boolean {
  const visibleStyles = new Set<string>()
  // oxlint-disable-next-line no-control-regex -- colours are what is read
  for (const [, codes = ''] of text.matchAll(/\u001B\[([\d;:]*)m/g)) {
    for (const code of codes.split(';')) {
      if (/^0*$/.test(code)) visibleStyles.clear()
      else if (/^(?:4|7|9|4[0-8]|10[0-7])$/.test(code)) visibleStyles.add(kindOf(code))
      else if (/^(?:24|27|29|49)$/.test(code)) visibleStyles.delete(kindOf(code))
    }
  }
  return visibleStyles.size > 0
}

/** The kind of an SGR code: `24` ends what `4` starts, and `49` ends what any background starts. */
function kindOf(code: string): string {
  return /^(?:4\d|10\d)$/.test(code) ? 'background' : code.slice(-1)
}
