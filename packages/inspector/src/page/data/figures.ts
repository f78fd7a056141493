import { useEffect, useRef, useState } from 'preact/hooks'
import type { RunView, SessionView, TimelineItem, TurnPoint } from '@halting/analysis/view'
import type { FigureKind, SessionOutline } from '../../server/figures.ts'
import type { PageSource } from './page-source.ts'
import { messageOf, source, type Loaded } from './store.ts'
import type { Packed } from '../../server/packed.ts'

/** The session with the requested figures of one run, or of all runs; other figures are empty. */
export async function withFigures(
  from: Pick<PageSource, 'figures'>,
  view: SessionOutline,
  kinds: readonly FigureKind[],
  only?: number,
): Promise<SessionView> {
  const figures = view.runs.map((): Partial<RunView>[] => [])
  for (const kind of kinds) {
    const rows: unknown[][] = []
    for await (const line of from.figures(view, kind, only)) {
      if (line.once !== undefined) figures[line.run]?.push(line.once)
      const of = (rows[line.run] ??= [])
      for (const row of unpack(line.rows)) of.push(row)
    }
    for (const [run, of] of rows.entries()) if (of !== undefined) figures[run]?.push(figuresOf(kind, of, figures[run]))
  }
  // The server omits figures that this view does not need.
  const runs = view.runs.map((run, index) => Object.assign({}, nothing, run, ...(figures[index] ?? [])) as RunView)
  return { ...view, runs }
}

const nothing = { items: [], points: [], windows: [] }

/** The rows have the requested kind. */
function figuresOf(kind: FigureKind, rows: readonly unknown[], known: readonly Partial<RunView>[]): Partial<RunView> {
  switch (kind) {
    case 'items':
      return { items: rows as readonly TimelineItem[] }
    case 'points':
      return { points: rows as readonly TurnPoint[] }
    case 'trajectory': {
      const trajectory = known.find((each) => each.trajectory !== undefined)?.trajectory as RunView['trajectory']
      return { trajectory: { ...trajectory, turns: rows as RunView['trajectory']['turns'] } }
    }
  }
}

/** A request for figures, and its result. */
interface FigureRequest {
  state: Loaded<SessionView>
  readonly finished: Promise<void>
}

/** Requests by outline: a session that changes gets a new outline. */
const known = new WeakMap<SessionOutline, Map<string, FigureRequest>>()

function figureRequest(view: SessionOutline, kinds: string, only: number | undefined): FigureRequest {
  const of = known.get(view) ?? new Map<string, FigureRequest>()
  known.set(view, of)
  const name = `${kinds} ${only}`
  const found = of.get(name)
  if (found !== undefined) return found
  const request: FigureRequest = {
    state: { kind: 'loading' },
    finished: withFigures(source(), view, kinds.split(' ') as FigureKind[], only).then(
      (value) => void (request.state = { kind: 'loaded', value }),
      (error: unknown) => void (request.state = { kind: 'failed', message: messageOf(error) }),
    ),
  }
  of.set(name, request)
  return request
}

/** A hook that returns such a session. The previous figures stay visible until the new ones arrive. */
export function useFigures(view: SessionOutline | undefined, kinds: string, only?: number): Loaded<SessionView> {
  const name = `${kinds} ${only}`
  const request = view === undefined ? undefined : figureRequest(view, kinds, only)
  const latest = useRef<{ readonly name: string; readonly state: Loaded<SessionView> }>(null)
  const [, draw] = useState({})
  useEffect(() => {
    let isWanted = true
    void request?.finished.then(() => isWanted && draw({}))
    return () => {
      isWanted = false
    }
  }, [request])
  if (request !== undefined && request.state.kind !== 'loading') latest.current = { name, state: request.state }
  return latest.current?.name === name ? latest.current.state : { kind: 'loading' }
}

/** Unpacks values that the server packed. */
export function unpack(packed: Packed): readonly unknown[] {
  if ('values' in packed) return packed.values
  if ('same' in packed) return Array.from({ length: packed.count }, () => packed.same)
  if ('steps' in packed) {
    let sum = 0
    return packed.steps.map((step) => (sum += step))
  }
  if ('texts' in packed) return unpack(packed.of).map((place) => packed.texts[Number(place)])
  if ('lengths' in packed) {
    const items = unpack(packed.items)
    let from = 0
    return unpack(packed.lengths).map((length) => items.slice(from, (from += Number(length))))
  }
  if ('except' in packed) {
    const { except, others, count, value } = packed
    const rest = unpack(others)
    let [left, at] = [0, 0]
    return Array.from({ length: count }, (_, place) => (except[left] === place ? (left++, value) : rest[at++]))
  }
  const columns = Object.entries(packed.fields).map(([name, column]) => [name, unpack(column)] as const)
  return Array.from({ length: packed.count }, (_, row) =>
    Object.fromEntries(columns.flatMap(([name, values]) => (values[row] === undefined ? [] : [[name, values[row]]]))),
  )
}
