import { columnsOf, truncateToColumns } from '../../io/columns.ts'
import { oneLine } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import type { Action } from '../keys/actions.ts'
import { typedText, withoutLastCharacter } from '../keys/typed-text.ts'
import type { Component } from '../screen/screen-port.ts'

/** A choice in a list. */
export interface Choice<T> {
  readonly value: T
  readonly label: string
  /** Additional information, shown dim next to the label. */
  readonly detail?: string
  /** Additional text that the filter matches. */
  readonly alsoFoundBy?: string
}

/** The choices, or a function for a list that grows at its end while it is shown. */
export type Choices<T> = readonly Choice<T>[] | (() => readonly Choice<T>[])

export interface PickOptions<T> {
  readonly title: string
  readonly choices: Choices<T>
  /** Lines below the list. */
  readonly notes?: () => readonly string[]
  /** The initially selected row. */
  readonly first?: number
  /** The hint at the bottom: what Enter and other keys do. */
  readonly hint: string
  readonly style: Style
  /** Whether a key is assigned to an action. */
  readonly isKey: (action: Action, data: string) => boolean
  /** Called when displayed data has changed. */
  readonly changed: () => void
  /** Called once with the choice; undefined if cancelled. */
  readonly done: (choice: T | undefined) => void
  /** Handles further keys for the selected row; returns true for a handled key. */
  readonly onKey?: (data: string, choice: T | undefined) => boolean
  readonly rows?: number
}

/** A list in place of the editor: typing filters it, Enter chooses a row, Esc cancels. */
export function pickList<T>(options: PickOptions<T>): Component {
  const { style, isKey, rows = 10, notes = () => [] } = options
  const all = (): readonly Choice<T>[] => (typeof options.choices === 'function' ? options.choices() : options.choices)
  let [filter, chosen] = ['', options.first ?? 0]
  const matching = (): readonly Choice<T>[] => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
    if (words.length === 0) return all()
    return all().filter(({ label, detail = '', alsoFoundBy = '' }) => {
      const text = `${label} ${detail} ${alsoFoundBy}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
  }
  const move = (by: number): void => {
    const { length } = matching()
    chosen = length === 0 ? 0 : (chosen + by + length) % length
  }
  const type = (text: string): void => {
    ;[filter, chosen] = [text, 0]
  }
  return {
    render(width) {
      const found = matching()
      const from = Math.max(0, Math.min(chosen - Math.floor(rows / 2), found.length - rows))
      const shown = found.slice(from, from + rows).map(({ label, detail }, index) => {
        const isChosen = from + index === chosen
        const line = rowOf(label, detail, width - 2, style)
        return isChosen ? `${style.bold('›')} ${line}` : `  ${line}`
      })
      const left = found.length - shown.length
      return [
        truncateToColumns(`${options.title}${filter === '' ? '' : ` ${oneLine(filter, 60)}`}`, width),
        ...(shown.length === 0 ? [style.dim(truncateToColumns('  no match', width))] : shown),
        ...(left > 0 ? [style.dim(truncateToColumns(`  and ${left} more`, width))] : []),
        ...notes().map((note) => style.dim(truncateToColumns(`  ${note}`, width))),
        style.dim(truncateToColumns(options.hint, width)),
      ]
    },
    handleInput(data) {
      const found = matching()
      if (options.onKey?.(data, found[chosen]?.value) === true) return options.changed()
      if (isKey('interrupt', data) || isKey('clear', data)) return options.done(undefined)
      if (isKey('send', data)) {
        const choice = found[chosen]
        if (choice !== undefined) options.done(choice.value)
        return
      }
      if (isKey('cursorUp', data)) move(-1)
      else if (isKey('cursorDown', data)) move(1)
      else if (isKey('pageUp', data)) chosen = Math.max(0, chosen - rows)
      else if (isKey('pageDown', data)) chosen = Math.max(0, Math.min(found.length - 1, chosen + rows))
      else if (isKey('deleteLeft', data)) type(withoutLastCharacter(filter))
      else if (isKey('deleteToLineStart', data)) type('')
      else {
        const text = typedText(data)
        if (text === '') return
        type(filter + text)
      }
      options.changed()
    },
  }
}

function rowOf(label: string, detail: string | undefined, width: number, style: Style): string {
  const shown = oneLine(label, width)
  if (detail === undefined || detail === '') return shown
  const room = width - columnsOf(shown)
  return room < 8 ? shown : `${shown}  ${style.dim(oneLine(detail, room - 2))}`
}
