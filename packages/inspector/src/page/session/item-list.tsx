import type { JSX } from 'preact'
import { visible, counted } from '@halting/analysis/words'
import { VirtualList } from '../common/virtual-list.tsx'
import { hasFailed } from './lanes.ts'
import { itemFigures, kindNames } from './item-words.ts'
import { Swatch } from './legend.tsx'
import { placeIn } from './selection.ts'
import { choose, type TimelineModel } from './timeline-model.ts'
import type { TimelineItem } from '@halting/analysis/view'
import type { Picture } from '../picture/picture.ts'
import { maxPictureRows, table, type PictureCell } from '../picture/table.ts'

interface ItemListProps {
  readonly model: TimelineModel
  /** Ids of the listed items. */
  readonly ids: Int32Array
  readonly onOpen: () => void
}

/** The items of the timeline as a list. */
export function ItemList({ model, ids, onOpen }: ItemListProps): JSX.Element {
  const { items, selected } = model
  const chosen = selected.value
  const place = chosen === null ? -1 : placeIn(ids, chosen)
  return (
    <VirtualList
      label="Items of the run"
      count={ids.length}
      rowRem={1.75}
      row={(index) => <Row item={items[ids[index] ?? -1]} />}
      selected={place >= 0 && ids[place] === chosen ? place : null}
      onSelect={(index) => choose(model, ids[index] ?? null)}
      onOpen={onOpen}
    />
  )
}

function Row({ item }: { readonly item: TimelineModel['items'][number] | undefined }): JSX.Element | null {
  if (item === undefined) return null
  const { kind, label, status, scope } = item
  const depth = scope.split('/').length - 1
  return (
    <span class="item-row" style={{ paddingLeft: `${0.4 + Math.min(depth, 6) * 0.75}rem` }}>
      <Swatch kind={kind} />
      <span class="item-kind">{kindNames[kind]}</span>
      <span class="item-label">{visible(label.slice(0, 200))}</span>
      {status === '' ? null : <span class={hasFailed(item) ? 'bad' : 'soft'}>{status}</span>}
      <span class="soft numbers">{itemFigures(item).join(', ')}</span>
    </span>
  )
}

/** The list of items as shown. */
interface PicturedItems {
  readonly items: readonly TimelineItem[]
  /** Ids of the listed items. */
  readonly ids: Int32Array
  /** Index of the selected item in the list; -1 for none. */
  readonly chosen: number
  /** The search text; '' for none. */
  readonly words: string
}

/** The items as a table; of many, those around the selected one. */
export function pictureOfItems({ items, ids, chosen, words }: PicturedItems): Picture {
  const count = ids.length
  const from = Math.max(0, Math.min(chosen - maxPictureRows / 2, count - maxPictureRows))
  const shownIds = ids.slice(from, from + maxPictureRows)
  const part =
    count > shownIds.length
      ? `Items ${counted(from + 1)} to ${counted(from + shownIds.length)} of ${counted(count)}.`
      : ''
  return {
    title: 'Items of the run',
    about: [...(words === '' ? [] : [`Items with: ${visible(words)}.`]), ...(part === '' ? [] : [part])],
    width: 1_100,
    blocks: [
      table({
        columns: [{ title: 'Kind' }, { title: 'Item' }, { title: 'Result' }, { title: 'Figures', isNumber: true }],
        rows: [...shownIds].flatMap((id) => {
          const item = items[id]
          return item === undefined ? [] : [rowOf(item)]
        }),
        total: { count, name: 'items' },
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
    { text: status, color: hasFailed(item) ? 'bad' : 'soft' },
    { text: itemFigures(item).join(', '), color: 'soft' },
  ]
}
