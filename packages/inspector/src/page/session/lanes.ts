import type { ItemKind, TimelineItem } from '@halting/analysis/view'
import type { Axis } from './axis.ts'

// Lanes of the timeline, with the positions of bars. Computed once for a run and a scale, so that drawing needs only lookups.

/** Bars that do not overlap. */
export interface Lane {
  readonly id: string
  readonly label: string
  readonly scope: string
  /** Nesting depth of the agent. */
  readonly depth: number
  /** Items in the order of their start. */
  readonly ids: Int32Array
  readonly starts: Float64Array
  readonly ends: Float64Array
  /** For each item, the latest end up to and including that item. It never decreases, so a bisection finds the items that reach into a range. */
  readonly reach: Float64Array
  /** For each index, the number of failed items before it. */
  readonly failedBefore: Uint32Array
  /** Indices of items in the lane, by id. */
  readonly places: ReadonlyMap<number, number>
}

const order: readonly ItemKind[] = ['turn', 'attempt', 'tool', 'agent', 'hook', 'compaction', 'check', 'wait', 'other']
const marks: ReadonlySet<ItemKind> = new Set(['lap', 'control', 'ending'])
const labels: { readonly [kind in ItemKind]: string } = {
  turn: 'turns',
  attempt: 'model',
  tool: 'tools',
  agent: 'agents',
  hook: 'hooks',
  compaction: 'compaction',
  check: 'checks',
  wait: 'waits',
  other: 'other',
  lap: 'marks',
  control: 'marks',
  ending: 'marks',
}

/** Parallel items get separate lanes, up to this number; further ones share the last lane. */
const maxLanes = 24

/** The lanes of the main loop, and of each unfolded agent whose parents are unfolded. A folded agent is one bar. */
export function lanesOf(items: readonly TimelineItem[], axis: Axis, unfolded: ReadonlySet<string>): readonly Lane[] {
  const scopes = groupedByScope(items)
  const lanes: Lane[] = []
  const add = (scope: string, depth: number): void => {
    const own = scopes.get(scope)
    if (own === undefined) return
    const indent = '› '.repeat(depth)
    for (const kind of order) {
      const ids = own.byKind.get(kind) ?? []
      for (const [index, packed] of pack(ids, axis).entries())
        lanes.push(laneOf(`${scope}${kind}${index}`, indent + labels[kind], scope, depth, packed, items, axis))
      if (kind !== 'agent') continue
      for (const child of own.children) if (unfolded.has(child)) add(child, depth + 1)
    }
    if (own.marks.length > 0)
      lanes.push(laneOf(`${scope}marks`, `${indent}marks`, scope, depth, own.marks, items, axis))
  }
  add('', 0)
  return lanes
}

interface Scope {
  readonly byKind: Map<ItemKind, number[]>
  readonly marks: number[]
  readonly children: Set<string>
}

/** The bar of an agent belongs to the loop that started it. */
function groupedByScope(items: readonly TimelineItem[]): ReadonlyMap<string, Scope> {
  const scopes = new Map<string, Scope>()
  const scopeOf = (name: string): Scope => {
    const found = scopes.get(name)
    if (found !== undefined) return found
    const scope: Scope = { byKind: new Map(), marks: [], children: new Set() }
    scopes.set(name, scope)
    if (name !== '') scopeOf(parentOf(name)).children.add(name)
    return scope
  }
  scopeOf('')
  for (const { id, kind, scope } of items) {
    if (kind === 'agent') scopeOf(scope)
    const own = scopeOf(kind === 'agent' ? parentOf(scope) : scope)
    if (marks.has(kind)) own.marks.push(id)
    else {
      const before = own.byKind.get(kind)
      if (before === undefined) own.byKind.set(kind, [id])
      else before.push(id)
    }
  }
  return scopes
}

/** The parent of a scope: that of `agent:3:0:a/agent:1:0:b/` is `agent:3:0:a/`. */
export function parentOf(scope: string): string {
  return scope.slice(0, scope.slice(0, -1).lastIndexOf('/') + 1)
}

/** The scopes of agents among these items, in order. */
export function agentScopes(items: readonly TimelineItem[]): readonly string[] {
  return [...new Set(items.filter(({ scope }) => scope !== '').map(({ scope }) => scope))]
}

/** Distributes items so that no two in a lane overlap. */
function pack(ids: readonly number[], axis: Axis): readonly number[][] {
  const lanes: number[][] = []
  const free: number[] = []
  for (const id of ids.toSorted((a, b) => axis.startOf(a) - axis.startOf(b) || a - b)) {
    const found = free.findIndex((end) => end <= axis.startOf(id))
    const lane = found >= 0 ? found : Math.min(lanes.length, maxLanes - 1)
    const packed = lanes[lane]
    if (packed === undefined) lanes.push([id])
    else packed.push(id)
    free[lane] = Math.max(free[lane] ?? 0, axis.endOf(id))
  }
  return lanes
}

function laneOf(
  id: string,
  label: string,
  scope: string,
  depth: number,
  ids: readonly number[],
  items: readonly TimelineItem[],
  axis: Axis,
): Lane {
  const reach = new Float64Array(ids.length)
  const wrongBefore = new Uint32Array(ids.length + 1)
  let latest = -Infinity
  for (const [index, item] of ids.entries()) {
    latest = Math.max(latest, axis.endOf(item))
    reach[index] = latest
    wrongBefore[index + 1] = (wrongBefore[index] ?? 0) + (hasFailed(items[item]) ? 1 : 0)
  }
  const starts = Float64Array.from(ids, (item) => axis.startOf(item))
  const ends = Float64Array.from(ids, (item) => axis.endOf(item))
  const places = new Map(ids.map((item, index) => [item, index]))
  return { id, label, scope, depth, ids: Int32Array.from(ids), starts, ends, reach, failedBefore: wrongBefore, places }
}

/** Statuses of failed calls, requests, rules and stages. */
const failedStatuses: ReadonlySet<string> = new Set([
  'failed',
  'invalid',
  'denied',
  'deny',
  'not_run',
  'aborted',
  'interrupted',
  'unknown',
  'lost',
  'overloaded',
  'over_budget',
  'error',
  'blocked',
  'unmet',
])

/** Whether an item failed, was denied, or has an unknown outcome. Endings show their own text instead. */
export function hasFailed(item: TimelineItem | undefined): boolean {
  return item !== undefined && item.kind !== 'ending' && failedStatuses.has(item.status)
}

/** The first index in sorted numbers whose value is at least this. */
export function firstAtLeast(numbers: Float64Array, value: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}

/** The item of a lane at this position, or the nearest within the tolerance; undefined for none. */
export function itemAt(lane: Lane, place: number, tolerance: number): number | undefined {
  let best: number | undefined
  let nearest = tolerance
  const from = firstAtLeast(lane.reach, place - tolerance)
  for (let index = from; index < lane.ids.length && (lane.starts[index] ?? 0) <= place + tolerance; index++) {
    const distance = Math.max((lane.starts[index] ?? 0) - place, place - (lane.ends[index] ?? 0), 0)
    if (distance > nearest) continue
    nearest = distance
    best = lane.ids[index]
    if (distance === 0) break
  }
  return best
}
