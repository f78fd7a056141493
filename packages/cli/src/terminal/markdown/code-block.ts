import { getSegmenter, visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import type { Block } from '../screen/screen-port.ts'
import type { Theme } from '../theme.ts'
import { codeOfModel } from '../view/of-model.ts'
import type { CodeLine } from './code-lines.ts'

/** Lines of code, as they are: parted where the width ends, and not between words, so that what is copied is the code. */
export function codeBlock(lines: readonly CodeLine[], indent: number, theme: Theme): Block {
  return codeOfModel({ render: (width) => lines.flatMap((line) => rowsOf(line, indent, width, theme)) })
}

/** The line above code, or below it. */
export function fenceBlock(
  mark: string,
  { indent, hasGap }: { readonly indent: number; readonly hasGap: boolean },
  theme: Theme,
): Block {
  return {
    render(width) {
      // What stands behind the mark may be of any length.
      const line = ' '.repeat(indent) + theme.paint('border', fitting(mark, Math.max(8, width - indent), true))
      return hasGap ? ['', line] : [line]
    },
  }
}

function rowsOf(line: CodeLine, indent: number, width: number, theme: Theme): readonly string[] {
  const room = Math.max(8, width - indent)
  const margin = ' '.repeat(indent)
  const rows: string[] = []
  let [row, left] = ['', room]
  for (const { text, role } of line) {
    let rest = text
    while (rest !== '') {
      const fits = fitting(rest, left, left === room)
      row += role === undefined ? fits : theme.paint(role, fits)
      rest = rest.slice(fits.length)
      left -= visibleWidth(fits)
      if (rest === '') break
      rows.push(margin + row)
      ;[row, left] = ['', room]
    }
  }
  return [...rows, margin + row]
}

/** As much of the text as there is room for; at least a character where the row is empty. */
function fitting(text: string, columns: number, isEmpty: boolean): string {
  if (/^[\u0020-\u007E]*$/.test(text)) return text.slice(0, columns)
  let kept = ''
  let left = columns
  for (const { segment } of getSegmenter().segment(text)) {
    left -= visibleWidth(segment)
    if (left < 0 && (kept !== '' || !isEmpty)) break
    kept += segment
  }
  return kept
}
