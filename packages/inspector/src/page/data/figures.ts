import { useEffect, useState } from 'preact/hooks'
import type { RunView, SessionView, TimelineItem, TurnPoint } from '@halting/analysis/view'
import type { FigureKind, SessionOutline } from '../../server/figures.ts'
import type { PageSource } from './page-source.ts'
import { messageOf, source, type Loaded } from './store.ts'
import { unpacked } from './unpacked.ts'

/** The session with these figures of one run, or of all; the other figures are empty. */
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
      for (const row of unpacked(line.rows)) of.push(row)
    }
    for (const [run, of] of rows.entries()) if (of !== undefined) figures[run]?.push(figuresOf(kind, of, figures[run]))
  }
  // The server leaves out what the view that asks does not look at.
  const runs = view.runs.map((run, index) => Object.assign({}, nothing, run, ...(figures[index] ?? [])) as RunView)
  return { ...view, runs }
}

const nothing = { items: [], points: [], windows: [] }

/** The rows are of the kind that was asked for. */
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

/** The same for a component that shows it. What it showed before stays until the new figures are there. */
export function useFigures(
  view: SessionOutline | undefined,
  kinds: string,
  only?: number,
): Loaded<SessionView> {
  const asked = `${kinds} ${only}`
  const [state, setState] = useState<{ readonly asked: string; readonly is: Loaded<SessionView> }>()
  useEffect(() => {
    let isWanted = view !== undefined
    const tell = (is: Loaded<SessionView>): void => {
      if (isWanted) setState({ asked, is })
    }
    if (view !== undefined)
      withFigures(source(), view, kinds.split(' ') as FigureKind[], only).then(
        (value) => tell({ kind: 'loaded', value }),
        (error: unknown) => tell({ kind: 'failed', message: messageOf(error) }),
      )
    return () => {
      isWanted = false
    }
  }, [view, asked])
  return state?.asked === asked ? state.is : { kind: 'loading' }
}
