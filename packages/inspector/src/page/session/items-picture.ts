import { counted, visible } from '@halting/analysis/words'
import type { TimelineItem } from '@halting/analysis/view'
import type { Picture } from '../picture/picture.ts'
import { mostPictureRows, table, type PictureCell } from '../picture/table.ts'
import { figuresOf, kindNames } from './item-words.ts'
import { isWrong } from './lanes.ts'

/** The list of items as it is shown. */
export interface PicturedItems {
  readonly items: readonly TimelineItem[]
  /** Numbers of those that are listed. */
  readonly ids: Int32Array
  /** The place in the list of the one that is chosen; -1 for none. */
  readonly chosen: number
  /** What was searched for; '' for nothing. */
  readonly words: string
}

/** The items as a table; of many those around the one that is chosen. */
export function pictureOfItems({ items, ids, chosen, words }: PicturedItems): Picture {
  const count = ids.length
  const from = Math.max(0, Math.min(chosen - mostPictureRows / 2, count - mostPictureRows))
  const shown = ids.slice(from, from + mostPictureRows)
  const part =
    count > shown.length ? `Items ${counted(from + 1)} to ${counted(from + shown.length)} of ${counted(count)}.` : ''
  return {
    title: 'Items of the run',
    about: [...(words === '' ? [] : [`Items with: ${visible(words)}.`]), ...(part === '' ? [] : [part])],
    width: 1_100,
    blocks: [
      table({
        columns: [{ title: 'Kind' }, { title: 'Item' }, { title: 'Came to' }, { title: 'Figures', isNumber: true }],
        rows: [...shown].flatMap((id) => {
          const item = items[id]
          return item === undefined ? [] : [rowOf(item)]
        }),
        of: { count, name: 'items' },
      }),
    ],
  }
}

function rowOf(item: TimelineItem): readonly PictureCell[] {
  const { kind, label, status, scope } = item
  const depth = scope.split('/').length - 1
  return [
    { text: `${'› '.repeat(Math.min(depth, 6))}${kindNames[kind]}`, mark: `kind-${kind}` },
    { text: label.slice(0, 200) },
    { text: status, color: isWrong(item) ? 'bad' : 'soft' },
    { text: figuresOf(item).join(', '), color: 'soft' },
  ]
}
