import { panned, rangeShowing, wholeRange, zoomed } from './axis.ts'
import { firstAtLeast, type Lane } from './lanes.ts'
import { toggleAgent, type TimelineModel } from './timeline-model.ts'

interface KeyActions {
  readonly choose: (id: number) => void
  readonly open: () => void
}

/** Handles a key of the focused timeline: arrows move between bars, and Enter selects the current one. */
export function keyOnTimeline(
  event: KeyboardEvent,
  model: TimelineModel,
  lanes: readonly Lane[],
  { choose, open }: KeyActions,
): void {
  const { range, pointed, selected, items } = model
  const axis = model.axis()
  const { from, to } = range.value
  const at = pointed.value ?? selected.value
  const goTo = (id: number | undefined): void => {
    if (id === undefined) return
    pointed.value = id
    range.value = rangeShowing(range.value, axis, axis.startOf(id), axis.endOf(id))
  }
  switch (event.key) {
    case 'ArrowLeft':
    case 'ArrowRight': {
      const by = event.key === 'ArrowLeft' ? -1 : 1
      if (event.shiftKey) range.value = panned(range.value, axis, (by * (to - from)) / 5)
      else goTo(neighbour(lanes, at, by))
      break
    }
    case 'ArrowUp':
      goTo(barInNextLane(lanes, at, -1))
      break
    case 'ArrowDown':
      goTo(barInNextLane(lanes, at, 1))
      break
    case 'Enter':
      if (at === null) return
      if (at === selected.value) open()
      else choose(at)
      break
    case '+':
    case '=':
    case '-': {
      const about = at === null ? (from + to) / 2 : Math.min(to, Math.max(from, axis.startOf(at)))
      range.value = zoomed(range.value, axis, about, event.key === '-' ? 1.5 : 1 / 1.5)
      break
    }
    case '0':
      range.value = wholeRange(axis)
      break
    case 'f': {
      const scope = items[at ?? -1]?.scope ?? ''
      if (scope === '') return
      toggleAgent(model, scope)
      break
    }
    default:
      return
  }
  event.preventDefault()
  // The page would handle the same key in another way.
  event.stopPropagation()
}

/** The bar before or after one in its lane; the very first one when none is current. */
function neighbour(lanes: readonly Lane[], at: number | null, by: 1 | -1): number | undefined {
  if (at === null) return lanes[0]?.ids[0]
  const lane = lanes.find(({ places }) => places.has(at))
  const place = lane?.places.get(at)
  if (lane === undefined || place === undefined) return lanes[0]?.ids[0]
  return lane.ids[place + by] ?? at
}

/** The first bar in the lane above or below that begins at the same time or later. */
function barInNextLane(lanes: readonly Lane[], at: number | null, by: 1 | -1): number | undefined {
  const index = at === null ? -1 : lanes.findIndex(({ places }) => places.has(at))
  if (at === null || index < 0) return lanes[0]?.ids[0]
  const lane = lanes[index]
  const next = lanes[index + by]
  if (lane === undefined || next === undefined) return at
  const place = firstAtLeast(next.starts, lane.starts[lane.places.get(at) ?? 0] ?? 0)
  return next.ids[Math.min(place, next.ids.length - 1)]
}
