import { setKittyProtocolActive } from '@earendil-works/pi-tui/dist/keys.js'

export type Background = 'light' | 'dark'

/** A report of the terminal, or the answer to a query. */
export type Report =
  | { readonly type: 'focus'; readonly hasFocus: boolean }
  | { readonly type: 'background'; readonly background: Background }
  /** The keyboard protocol is supported. */
  | { readonly type: 'kitty' }
  /** The cursor row, counted from 0. */
  | { readonly type: 'cursor'; readonly row: number }
  /** Device attributes: every terminal reports these, after all other answers. */
  | { readonly type: 'attributes' }
  | { readonly type: 'other' }

/** Saves the title; enables bracketed paste and focus reports; then queries the background colour, the keyboard protocol and the device attributes. */
const on = '\u001B[22;2t\u001B[?2004h\u001B[?1004h\u001B[?25l'
const questions = '\u001B]11;?\u0007\u001B[?u\u001B[c'
const off = '\u001B[0m\u001B[?7h\u001B[?1004l\u001B[?2004l\u001B[?25h\u001B[23;2t'

/** The terminal modes that the program needs: set at the start, and reset however it ends (spec R-TERM-5). */
export interface Modes {
  /** Sets the modes; the first time, also queries the capabilities. */
  on(): string
  off(): string
  /** The bytes to write after an answer. */
  answered(report: Report): string
}

export function createModes(): Modes {
  let keyboard: 'unknown' | 'kitty' | 'other_keys' = 'unknown'
  // Enables key codes that distinguish keys, and base layout keys; not key releases, which are not used.
  const keyboardOn = { unknown: '', kitty: '\u001B[>5u', other_keys: '\u001B[>4;2m' }
  const keyboardOff = { unknown: '', kitty: '\u001B[<u', other_keys: '\u001B[>4;0m' }
  return {
    on: () => (keyboard === 'unknown' ? on + questions : on + keyboardOn[keyboard]),
    off: () => keyboardOff[keyboard] + off,
    answered({ type }) {
      if (keyboard !== 'unknown' || (type !== 'kitty' && type !== 'attributes')) return ''
      keyboard = type === 'kitty' ? 'kitty' : 'other_keys'
      setKittyProtocolActive(keyboard === 'kitty')
      return keyboardOn[keyboard]
    },
  }
}

/** The report in some input; undefined for a key. */
export function reportOf(data: string): Report | undefined {
  if (!data.startsWith('\u001B')) return undefined
  if (data === '\u001B[I' || data === '\u001B[O') return { type: 'focus', hasFocus: data === '\u001B[I' }
  // oxlint-disable no-control-regex -- answers of a terminal are sequences
  if (/^\u001B\[\?\d+u$/.test(data)) return { type: 'kitty' }
  if (/^\u001B\[\?[\d;]*c$/.test(data)) return { type: 'attributes' }
  if (data.startsWith('\u001B]11;')) {
    const background = backgroundOf(data)
    return background === undefined ? { type: 'other' } : { type: 'background', background }
  }
  const cursor = /^\u001B\[(\d+);\d+R$/.exec(data)
  if (cursor !== null) return { type: 'cursor', row: Number(cursor[1]) - 1 }
  return /^\u001B(?:\[\?|\][^\u0007]|P.|_)/s.test(data) ? { type: 'other' } : undefined
  // oxlint-enable no-control-regex
}

/** Parses an answer such as `rgb:ffff/ffff/dddd`. */
function backgroundOf(answer: string): Background | undefined {
  const parts = /rgba?:([\da-f]+)\/([\da-f]+)\/([\da-f]+)/i.exec(answer)
  if (parts === null) return undefined
  const [red = 0, green = 0, blue = 0] = parts
    .slice(1, 4)
    .map((part) => Number.parseInt(part, 16) / (16 ** part.length - 1))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 ? 'light' : 'dark'
}
