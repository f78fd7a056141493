import type { Signal } from '@preact/signals'
import type { TimelineItem } from '@halting/analysis/view'

/** Items whose label, kind or status contains all of these words, in order; all items for an empty search. */
export function matchingItems(items: readonly TimelineItem[], words: string): Int32Array {
  const terms = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  if (terms.length === 0) return Int32Array.from(items, ({ id }) => id)
  const found = items.filter(({ label, kind, status }) => {
    const text = `${kind} ${status} ${label}`.toLowerCase()
    return terms.every((word) => text.includes(word))
  })
  return Int32Array.from(found, ({ id }) => id)
}

/** The index of an item in a list of ids, or the index at which it would be inserted. */
export function placeIn(ids: Int32Array, id: number): number {
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ids[middle] ?? 0) < id) low = middle + 1
    else high = middle
  }
  return low
}

/** The selected item of a run, shared by all views of the run. */
export interface Selection {
  readonly items: readonly TimelineItem[]
  /** Id of the item; null for none. */
  readonly selected: Signal<number | null>
}

/** The item that represents a part of the transcript best: the call rather than the turn around it. */
export function itemOfPart(items: readonly TimelineItem[], part: number): number | undefined {
  let best: TimelineItem | undefined
  for (const item of items) if (item.part === part && (best === undefined || rank(item) > rank(best))) best = item
  return best?.id
}

function rank({ kind }: TimelineItem): number {
  if (kind === 'tool' || kind === 'ending') return 3
  return kind === 'turn' ? 1 : 2
}

/** The part of the transcript to show for an item: its own, else the last one before it. */
export function partOf(items: readonly TimelineItem[], id: number): number | null {
  for (let index = id; index >= 0; index--) {
    const part = items[index]?.part
    if (part !== null && part !== undefined) return part
  }
  return null
}
