import type { ItemKind, TimelineItem } from '@halting/analysis/view'
import type { Axis } from './axis.ts'

// Lanes of the timeline: which bar stands where. Made once for a run and a scale; drawing only looks things up.

/** Bars one after another. */
export interface Lane {
  readonly id: string
  readonly label: string
  readonly scope: string
  /** How deep in agents. */
  readonly depth: number
  /** Items in the order of their beginnings. */
  readonly ids: Int32Array
  readonly starts: Float64Array
  readonly ends: Float64Array
  /** The latest end among an item and those before it: rises, so that a bisection finds what reaches into a window. */
  readonly reach: Float64Array
  /** How many of the items before each number went wrong. */
  readonly wrongBefore: Uint32Array
  /** Where an item stands in the lane. */
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

/** What runs beside others gets lanes of its own, up to this many; what is beyond shares the last. */
const mostLanes = 24

/** The lanes of what is unfolded: the main loop, and each agent in `unfolded` whose parents are. The bar of a folded agent stands for all that it did. */
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

/** The bar of an agent stands among those of the loop that started it. */
function groupedByScope(items: readonly TimelineItem[]): ReadonlyMap<string, Scope> {
  const scopes = new Map<string, Scope>()
  const scopeOf = (name: string): Scope => {
    const found = scopes.get(name)
    if (found !== undefined) return found
    const made: Scope = { byKind: new Map(), marks: [], children: new Set() }
    scopes.set(name, made)
    if (name !== '') scopeOf(parentOf(name)).children.add(name)
    return made
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

/** `agent:3:0:a/agent:1:0:b/` is within `agent:3:0:a/`. */
export function parentOf(scope: string): string {
  return scope.slice(0, scope.slice(0, -1).lastIndexOf('/') + 1)
}

/** The scopes of agents among these items, in their order. */
export function agentScopes(items: readonly TimelineItem[]): readonly string[] {
  return [...new Set(items.filter(({ scope }) => scope !== '').map(({ scope }) => scope))]
}

/** Shares items out so that no two in a lane are there at once. */
function pack(ids: readonly number[], axis: Axis): readonly number[][] {
  const lanes: number[][] = []
  const free: number[] = []
  for (const id of ids.toSorted((a, b) => axis.startOf(a) - axis.startOf(b) || a - b)) {
    const found = free.findIndex((end) => end <= axis.startOf(id))
    const lane = found >= 0 ? found : Math.min(lanes.length, mostLanes - 1)
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
    wrongBefore[index + 1] = (wrongBefore[index] ?? 0) + (isWrong(items[item]) ? 1 : 0)
  }
  const starts = Float64Array.from(ids, (item) => axis.startOf(item))
  const ends = Float64Array.from(ids, (item) => axis.endOf(item))
  const places = new Map(ids.map((item, index) => [item, index]))
  return { id, label, scope, depth, ids: Int32Array.from(ids), starts, ends, reach, wrongBefore, places }
}

/** Of calls, of requests, of rules and of stages. */
const wrong: ReadonlySet<string> = new Set([
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

/** Whether it deserves a look: it failed, was denied, or nobody knows what became of it. An ending is told by its own words. */
export function isWrong(item: TimelineItem | undefined): boolean {
  return item !== undefined && item.kind !== 'ending' && wrong.has(item.status)
}

/** The first place in rising numbers that is at least this. */
export function firstAtLeast(numbers: Float64Array, value: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}

/** The item of a lane that is at this place, or nearest to it within the tolerance; undefined where there is none. */
export function itemAt(lane: Lane, place: number, tolerance: number): number | undefined {
  let best: number | undefined
  let least = tolerance
  const from = firstAtLeast(lane.reach, place - tolerance)
  for (let index = from; index < lane.ids.length && (lane.starts[index] ?? 0) <= place + tolerance; index++) {
    const distance = Math.max((lane.starts[index] ?? 0) - place, place - (lane.ends[index] ?? 0), 0)
    if (distance > least) continue
    least = distance
    best = lane.ids[index]
    if (distance === 0) break
  }
  return best
}
