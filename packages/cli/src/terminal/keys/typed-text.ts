import { decodePrintableKey } from '@earendil-works/pi-tui/dist/keys.js'
import { oneLine } from '../../io/figures.ts'
import { pasteEnd, pasteStart } from '../screen/input.ts'

/** What was pasted; undefined for a key. */
export function pastedText(data: string): string | undefined {
  if (!data.startsWith(pasteStart)) return undefined
  const text = data.slice(pasteStart.length)
  return text.endsWith(pasteEnd) ? text.slice(0, -pasteEnd.length) : text
}

/** What a key types, however the terminal tells it; an input method may give several characters. Undefined for a key that types nothing, and for a paste. */
export function textOfKey(data: string): string | undefined {
  const text = decodePrintableKey(data) ?? data
  return /^\P{Cc}+$/u.test(text) ? text : undefined
}

/** The text that a key, or a paste, types in a line; '' for none. */
export function typedText(data: string): string {
  const pasted = pastedText(data)
  return pasted === undefined ? (textOfKey(data) ?? '') : oneLine(pasted, 1_000)
}

/** The text without its last character. */
export function withoutLastCharacter(text: string): string {
  return Array.from(text).slice(0, -1).join('')
}
