import type { TimelineItem } from '@halting/analysis/view'

/** The scale of the timeline: active time, or the numbers of records, where every step has the same width. */
export const scales = ['time', 'records'] as const
export type Scale = (typeof scales)[number]

/** Start and end of items on a scale. */
export interface Axis {
  readonly scale: Scale
  /** The axis goes from 0 to this. */
  readonly length: number
  readonly startOf: (id: number) => number
  /** The end of an item, at least its start. An item without a recorded end extends to the end of the run. */
  readonly endOf: (id: number) => number
}

/** The visible range of an axis. */
export interface Range {
  readonly from: number
  readonly to: number
}

export function axisOf(items: readonly TimelineItem[], scale: Scale): Axis {
  const byTime = scale === 'time'
  let length = 0
  for (const { startMs, endMs, lastRecord } of items)
    length = Math.max(length, byTime ? Math.max(startMs, endMs ?? 0) : lastRecord + 1)
  const startOf = (id: number): number => (byTime ? items[id]?.startMs : items[id]?.firstRecord) ?? 0
  const endOf = (id: number): number => {
    const item = items[id]
    if (item === undefined) return 0
    if (byTime) return item.endMs ?? length
    return item.lastRecord + 1
  }
  return { scale, length: length === 0 ? 1 : length, startOf, endOf }
}

/** By time, unless no time passed. */
export function usualScale(items: readonly TimelineItem[]): Scale {
  return items.some(({ startMs, endMs }) => startMs > 0 || (endMs ?? 0) > 0) ? 'time' : 'records'
}

export function wholeRange({ length }: Axis): Range {
  return { from: 0, to: length }
}

/** Zooms by a factor (below 1 zooms in) around a position, which stays in place as far as the axis permits. */
export function zoomed(range: Range, axis: Axis, about: number, factor: number): Range {
  const width = range.to - range.from
  const minWidth = axis.scale === 'time' ? 1 : 2
  const newWidth = Math.min(axis.length, Math.max(Math.min(minWidth, axis.length), width * factor))
  const share = width === 0 ? 0.5 : (about - range.from) / width
  return within(about - share * newWidth, newWidth, axis)
}

export function panned(range: Range, axis: Axis, by: number): Range {
  return within(range.from + by, range.to - range.from, axis)
}

/** Scrolls as little as necessary to show a bar. A bar wider than the visible range is shown from its start. */
export function rangeShowing(range: Range, axis: Axis, start: number, end: number): Range {
  const width = range.to - range.from
  if (start >= range.from && end <= range.to) return range
  if (end - start > width) {
    // A bar that covers the whole range is already visible.
    if (start <= range.from && end >= range.to) return range
    return within(start, width, axis)
  }
  return within(start < range.from ? start - width * 0.1 : end - width * 0.9, width, axis)
}

function within(from: number, width: number, { length }: Axis): Range {
  const start = Math.max(0, Math.min(from, length - width))
  return { from: start, to: start + width }
}

/** Round positions for ticks and labels: at most `most`, and at least `finest` apart. */
export function ticks({ from, to }: Range, most: number, finest = 0): readonly number[] {
  const minStep = to > from ? Math.max(finest, (to - from) / Math.max(1, most)) : 0
  if (!(minStep > 0)) return []
  const power = 10 ** Math.floor(Math.log10(minStep))
  const step = ([1, 2, 5, 10].find((each) => each * power >= minStep) ?? 10) * power
  const found: number[] = []
  for (let place = Math.ceil(from / step) * step; place <= to; place += step) found.push(place)
  return found
}
