import { signal, type Signal } from '@preact/signals'
import { axisOf, rangeShowing, usualScale, wholeRange, type Axis, type Range, type Scale } from './axis.ts'
import { agentScopes, lanesOf, parentOf, type Lane } from './lanes.ts'
import type { Selection } from './selection.ts'

/** State of a run's timeline: its scale, the visible range, unfolded agents, and the current item. */
export interface TimelineModel extends Selection {
  readonly scale: Signal<Scale>
  readonly range: Signal<Range>
  readonly unfolded: Signal<ReadonlySet<string>>
  /** The item below the pointer, or the one reached by arrow keys. */
  readonly pointed: Signal<number | null>
  readonly axis: () => Axis
  readonly lanes: () => readonly Lane[]
}

/** Up to this number of agents are unfolded at first. */
const shownAgents = 3

/** A model of these items. For a run that is still running, the state of the earlier model is kept. */
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
  // The lanes of one scale and set of agents are computed once.
  let cached: { readonly axis: Axis; readonly open: ReadonlySet<string>; readonly lanes: readonly Lane[] } | undefined
  const lanes = (): readonly Lane[] => {
    const [along, open] = [axis(), unfolded.value]
    if (cached === undefined || cached.axis !== along || cached.open !== open)
      cached = { axis: along, open, lanes: lanesOf(items, along, open) }
    return cached.lanes
  }
  const range = before?.range ?? signal(wholeRange(axis()))
  if (before !== undefined) followEnd(range, before.axis(), axis())
  return { ...selection, scale, range, unfolded, pointed: before?.pointed ?? signal(null), axis, lanes }
}

/** Keeps the end of the run in view if it was visible before. */
function followEnd(range: Signal<Range>, before: Axis, after: Axis): void {
  const { from, to } = range.peek()
  if (to < before.length) return
  range.value = from === 0 ? wholeRange(after) : { from: from + after.length - before.length, to: after.length }
}

/** Selects an item and scrolls to it. */
export function choose(model: TimelineModel, id: number | null): void {
  model.selected.value = id
  if (id === null) return
  const axis = model.axis()
  model.range.value = rangeShowing(model.range.value, axis, axis.startOf(id), axis.endOf(id))
}

export function setScale(model: TimelineModel, scale: Scale): void {
  model.scale.value = scale
  model.range.value = wholeRange(model.axis())
}

/** Folds an agent, or unfolds it with its parents. */
export function toggleAgent({ unfolded }: TimelineModel, scope: string): void {
  const next = new Set(unfolded.value)
  if (next.has(scope)) next.delete(scope)
  else for (let each = scope; each !== ''; each = parentOf(each)) next.add(each)
  unfolded.value = next
}

/** Unfolds all agents, or folds all if some are unfolded. */
export function toggleAgents({ items, unfolded }: TimelineModel): void {
  unfolded.value = new Set(unfolded.value.size > 0 ? [] : agentScopes(items))
}
