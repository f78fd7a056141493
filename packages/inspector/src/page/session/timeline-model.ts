import { signal, type Signal } from '@preact/signals'
import { axisOf, showing, usualScale, whole, type Axis, type Range, type Scale } from './axis.ts'
import { agentScopes, lanesOf, parentOf, type Lane } from './lanes.ts'
import type { Selection } from './selection.ts'

/** What the timeline of a run shows: its scale, what of it is seen, which agents are unfolded, and where the pointer is. */
export interface TimelineModel extends Selection {
  readonly scale: Signal<Scale>
  readonly range: Signal<Range>
  readonly unfolded: Signal<ReadonlySet<string>>
  /** The item below the pointer, or that arrow keys came to. */
  readonly pointed: Signal<number | null>
  readonly axis: () => Axis
  readonly lanes: () => readonly Lane[]
}

/** Few enough to be shown at once. */
const shownAgents = 3

/** A model of these items. What was shown before of the same run stays as it was, for one that goes on. */
export function timelineModel(selection: Selection, before?: TimelineModel): TimelineModel {
  const { items } = selection
  const scale = before?.scale ?? signal<Scale>(usualScale(items))
  const agents = agentScopes(items)
  const unfolded = before?.unfolded ?? signal<ReadonlySet<string>>(new Set(agents.length <= shownAgents ? agents : []))
  const axes = new Map<Scale, Axis>()
  const axis = (): Axis => {
    const found = axes.get(scale.value) ?? axisOf(items, scale.value)
    axes.set(scale.value, found)
    return found
  }
  // The lanes of one scale and set of agents are made once.
  let made: { readonly axis: Axis; readonly open: ReadonlySet<string>; readonly lanes: readonly Lane[] } | undefined
  const lanes = (): readonly Lane[] => {
    const [along, open] = [axis(), unfolded.value]
    if (made === undefined || made.axis !== along || made.open !== open)
      made = { axis: along, open, lanes: lanesOf(items, along, open) }
    return made.lanes
  }
  const range = before?.range ?? signal(whole(axis()))
  if (before !== undefined) followEnd(range, before.axis(), axis())
  return { ...selection, scale, range, unfolded, pointed: before?.pointed ?? signal(null), axis, lanes }
}

/** Who saw the end of the run goes on seeing it. */
function followEnd(range: Signal<Range>, was: Axis, is: Axis): void {
  const { from, to } = range.peek()
  if (to < was.length) return
  range.value = from === 0 ? whole(is) : { from: from + is.length - was.length, to: is.length }
}

/** Chooses an item and brings it in sight. */
export function choose(model: TimelineModel, id: number | null): void {
  model.selected.value = id
  if (id === null) return
  const axis = model.axis()
  model.range.value = showing(model.range.value, axis, axis.startOf(id), axis.endOf(id))
}

export function setScale(model: TimelineModel, scale: Scale): void {
  model.scale.value = scale
  model.range.value = whole(model.axis())
}

/** Folds an agent, or unfolds it and those that it is within. */
export function toggleAgent({ unfolded }: TimelineModel, scope: string): void {
  const next = new Set(unfolded.value)
  if (next.has(scope)) next.delete(scope)
  else for (let each = scope; each !== ''; each = parentOf(each)) next.add(each)
  unfolded.value = next
}

/** Unfolds all agents, or folds them where some are unfolded. */
export function toggleAgents({ items, unfolded }: TimelineModel): void {
  unfolded.value = new Set(unfolded.value.size > 0 ? [] : agentScopes(items))
}
