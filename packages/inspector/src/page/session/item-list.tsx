import type { JSX } from 'preact'
import { visible } from '@halting/analysis/words'
import { VirtualList } from '../common/virtual-list.tsx'
import { isWrong } from './lanes.ts'
import { figuresOf, kindNames } from './item-words.ts'
import { Swatch } from './legend.tsx'
import { placeIn } from './selection.ts'
import { choose, type TimelineModel } from './timeline-model.ts'

interface ItemListProps {
  readonly model: TimelineModel
  /** Numbers of the items that are listed. */
  readonly ids: Int32Array
  readonly onOpen: () => void
}

/** What the timeline draws, in text: an item a row. */
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
      {status === '' ? null : <span class={isWrong(item) ? 'bad' : 'soft'}>{status}</span>}
      <span class="soft numbers">{figuresOf(item).join(', ')}</span>
    </span>
  )
}
