import { matchesKey, type KeyId } from '@earendil-works/pi-tui/dist/keys.js'
import { CURSOR_MARKER } from '@earendil-works/pi-tui/dist/tui.js'
import { columnsOf } from '../../io/columns.ts'
import { sanitizeTerminalText } from '../../io/sanitize-terminal-text.ts'
import { revealControls, codePointMark } from '../../io/reveal-hidden.ts'
import { pastedText, textOfKey } from '../keys/typed-text.ts'

/** A text field in a question: for a reason, or a changed command. Enter and Esc are left to the caller. */
export interface TextField {
  readonly text: string
  /** Lines of at most `width` columns, with the cursor. */
  render(width: number): readonly string[]
  /** Whether the key was handled. */
  handleInput(data: string): boolean
}

/** Whether a key is one of these. */
export function isPressed(data: string, ...keys: readonly KeyId[]): boolean {
  return keys.some((key) => matchesKey(data, key))
}

/** The single character that a key types. */
export function typedCharacter(data: string): string | undefined {
  const text = textOfKey(data)
  return text !== undefined && /^.$/u.test(text) ? text : undefined
}

/** A character with its combining marks. */
const lastCharacter = /(?:[^\p{M}]|^)\p{M}*$/su
const firstCharacter = /^[\s\S]\p{M}*/u

export function textField(initial: string): TextField {
  let [before, after] = [initial, '']
  const lineStart = (): number => before.lastIndexOf('\n') + 1
  const lineEnd = (): number => (after.includes('\n') ? after.indexOf('\n') : after.length)
  const moveTo = (at: number): void => {
    const text = before + after
    ;[before, after] = [text.slice(0, at), text.slice(at)]
  }
  const insert = (text: string): void => {
    before += text
  }
  const lengthBack = (): number => lastCharacter.exec(before)?.[0].length ?? 0
  const lengthOn = (): number => firstCharacter.exec(after)?.[0].length ?? 0
  const handlers: readonly (readonly [readonly KeyId[], () => void])[] = [
    [['shift+enter', 'alt+enter', 'ctrl+enter', 'ctrl+j'], () => insert('\n')],
    [['backspace'], () => (before = before.slice(0, before.length - lengthBack()))],
    [['delete', 'ctrl+d'], () => (after = after.slice(lengthOn()))],
    [['left', 'ctrl+b'], () => moveTo(before.length - lengthBack())],
    [['right', 'ctrl+f'], () => moveTo(before.length + lengthOn())],
    [['home', 'ctrl+a'], () => moveTo(lineStart())],
    [['end', 'ctrl+e'], () => moveTo(before.length + lineEnd())],
    [['ctrl+u'], () => (before = before.slice(0, lineStart()))],
    [['ctrl+k'], () => (after = after.slice(lineEnd()))],
    [['ctrl+w', 'alt+backspace'], () => (before = before.replace(/\S*\s*$/, ''))],
  ]
  return {
    get text() {
      return before + after
    },
    render: (width) => fieldLines(before, after, width),
    handleInput(data) {
      const pasted = pastedText(data)
      const typed =
        pasted === undefined ? textOfKey(data) : sanitizeTerminalText(pasted.replaceAll('\r', '\n'), { styled: false })
      if (typed !== undefined) {
        insert(typed)
        return true
      }
      // A line feed is Ctrl+J, not Enter.
      const handle = data === '\n' ? () => insert('\n') : handlers.find(([keys]) => isPressed(data, ...keys))?.[1]
      handle?.()
      return handle !== undefined
    },
  }
}

/** Control characters are shown by their code point, because they are part of the text. */
function visibleCharacter(character: string): string {
  return /[\u2028\u2029]/.test(character) ? codePointMark(character) : revealControls(character)
}

/** The unchanged text, split where a line is full, so that every space is visible. */
function fieldLines(before: string, after: string, width: number): readonly string[] {
  // The cursor may be after the last character of a line.
  const room = Math.max(2, width - 1)
  const lines = ['']
  let columns = 0
  const add = (text: string): void => {
    for (const character of text) {
      const shown = character === '\t' ? '    ' : visibleCharacter(character)
      const needed = columnsOf(shown)
      if (character === '\n' || columns + needed > room) {
        lines.push('')
        columns = 0
      }
      if (character === '\n') continue
      lines[lines.length - 1] += shown
      columns += needed
    }
  }
  add(before)
  lines[lines.length - 1] += CURSOR_MARKER
  add(after)
  return lines
}
