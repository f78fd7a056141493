import { truncateToColumns } from '../../io/columns.ts'
import type { Style } from '../../io/style.ts'
import type { Page } from '../app/context.ts'
import type { Action } from '../keys/actions.ts'
import { typedText, withoutLastCharacter } from '../keys/typed-text.ts'
import type { Component } from '../screen/screen-port.ts'

interface PagerOptions extends Page {
  readonly rows: () => number
  readonly style: Style
  readonly isKey: (action: Action, data: string) => boolean
  readonly changed: () => void
  readonly done: () => void
}

/** A long text on the whole screen: arrows, page keys, `g` and `G`, `/` to search, `q` or Esc to close. */
export function pager(options: PagerOptions): Component {
  const { style, isKey, rows, changed, done } = options
  let at = options.startsAt === 'end' ? Infinity : 0
  let [search, isTyping, note] = ['', false, '']
  let known: { readonly width: number; readonly lines: readonly string[] } | undefined
  const room = (): number => Math.max(1, rows() - 2)
  const linesOf = (width: number): readonly string[] => {
    if (known?.width !== width) known = { width, lines: options.linesFor(width) }
    return known.lines
  }
  const last = (): number => Math.max(0, (known?.lines.length ?? 0) - room())
  const go = (to: number): void => {
    at = Math.max(0, Math.min(to, last()))
  }
  const find = (from: number, step: 1 | -1): void => {
    if (search === '') return
    const index = indexOfMatch(known?.lines ?? [], search, { from, step })
    note = index === undefined ? 'not found' : ''
    if (index !== undefined) go(index)
  }
  const type = (data: string): void => {
    if (isKey('interrupt', data) || isKey('clear', data)) [isTyping, search] = [false, '']
    else if (isKey('send', data)) {
      isTyping = false
      find(at, 1)
    } else if (isKey('deleteLeft', data)) search = withoutLastCharacter(search)
    else search += typedText(data)
  }
  const command = (data: string): void => {
    const key = typedText(data)
    if (key === 'q' || isKey('interrupt', data) || isKey('clear', data) || isKey('transcript', data)) return done()
    if (isKey('cursorUp', data) || key === 'k') go(at - 1)
    else if (isKey('cursorDown', data) || key === 'j' || isKey('send', data)) go(at + 1)
    else if (isKey('pageUp', data) || key === 'b') go(at - room())
    else if (isKey('pageDown', data) || key === ' ') go(at + room())
    else if (isKey('cursorLineStart', data) || key === 'g') go(0)
    else if (isKey('cursorLineEnd', data) || key === 'G') go(Infinity)
    else if (key === '/') [isTyping, search, note] = [true, '', '']
    else if (key === 'n') find(at + 1, 1)
    else if (key === 'N') find(at - 1, -1)
  }
  return {
    render(width) {
      const lines = linesOf(width)
      go(at)
      const shown = lines.slice(at, at + room())
      const filler = Array.from({ length: room() - shown.length }, () => '')
      const end = Math.min(lines.length, at + room())
      const place = lines.length === 0 ? 'empty' : `${at + 1} to ${end} of ${lines.length}`
      const hint = isTyping ? `/${search}▌` : `${note === '' ? place : note} · / search · q close`
      return [
        style.bold(truncateToColumns(options.title, width)),
        ...shown,
        ...filler,
        style.dim(truncateToColumns(hint, width)),
      ]
    },
    handleInput(data) {
      if (isTyping) type(data)
      else command(data)
      changed()
    },
    invalidate() {
      known = undefined
    },
  }
}

/** The next line with the text, upper or lower case, from a line on in steps of 1 or -1; the search wraps around. */
function indexOfMatch(
  lines: readonly string[],
  text: string,
  { from, step }: { readonly from: number; readonly step: 1 | -1 },
): number | undefined {
  const lowerCase = text.toLowerCase()
  for (let count = 0; count < lines.length; count++) {
    const index = (((from + step * count) % lines.length) + lines.length) % lines.length
    if (lines[index]?.toLowerCase().includes(lowerCase) === true) return index
  }
  return undefined
}
