import { decodePrintableKey } from '@earendil-works/pi-tui/dist/keys.js'
import { oneLine } from '../../io/figures.ts'
import { pasteEnd, pasteStart } from '../screen/input.ts'

/** The pasted text; undefined for a key. */
export function pastedText(data: string): string | undefined {
  if (!data.startsWith(pasteStart)) return undefined
  const text = data.slice(pasteStart.length)
  return text.endsWith(pasteEnd) ? text.slice(0, -pasteEnd.length) : text
}

/** The text that a key types, in any encoding of the terminal. An input method may send several characters. Undefined for other keys and pastes. */
export function textOfKey(data: string): string | undefined {
  const text = decodePrintableKey(data) ?? data
  return /^\P{Cc}+$/u.test(text) ? text : undefined
}

/** The single-line text that a key or paste types; '' for none. */
export function typedText(data: string): string {
  const pasted = pastedText(data)
  return pasted === undefined ? (textOfKey(data) ?? '') : oneLine(pasted, 1_000)
}

/** The text without its last character. */
export function withoutLastCharacter(text: string): string {
  return Array.from(text).slice(0, -1).join('')
}
