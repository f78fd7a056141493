import { linesAt } from './lines-at.ts'
import { rowText } from './row.ts'
import type { Component } from './screen-port.ts'

/** The alternate screen, for what takes all of the terminal: the transcript, a diff. What is printed below it is there again behind it. */
export interface FullScreen {
  enter(): string
  leave(): string
  /** What is to be written to show it. */
  draw(component: Component, columns: number, rows: number): string
  /** What stands on the screen is not known any more. */
  forget(): void
}

export function fullScreen(): FullScreen {
  let shown: readonly string[] = []
  return {
    enter() {
      shown = []
      return '\u001B[?1049h\u001B[2J\u001B[?25l'
    },
    leave: () => '\u001B[?1049l',
    draw(component, columns, rows) {
      const lines = linesAt(component, columns - 1).slice(0, rows)
      const texts = Array.from({ length: rows }, (_, row) => rowText(lines[row] ?? '', columns - 1))
      const changes = texts.map((text, row) =>
        text === (shown[row] ?? '') ? '' : `\u001B[${row + 1};1H\u001B[K${text}`,
      )
      shown = texts
      const bytes = changes.join('')
      return bytes === '' ? '' : `\u001B[?2026h\u001B[?7l${bytes}\u001B[?7h\u001B[?2026l`
    },
    forget() {
      shown = []
    },
  }
}
