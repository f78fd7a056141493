import type { RunView, SessionView } from '@halting/analysis/view'
import { packed, type Packed } from './packed.ts'

// The largest parts of a session are sent separately, packed, to the views that need them; the outline does not contain them.

/** Figures of runs that are loaded separately. */
export const figureKinds = ['items', 'points', 'trajectory'] as const
export type FigureKind = (typeof figureKinds)[number]

/** A run without these figures. */
export type RunOutline = Omit<RunView, FigureKind | 'windows' | 'graded'> & {
  readonly graded: Pick<RunView['graded'], 'grade'>
}

/** A session without these figures of its runs. */
export interface SessionOutline extends Omit<SessionView, 'runs'> {
  readonly runs: readonly RunOutline[]
}

/** A batch of figures of one kind; the batches of a run come in order. */
export interface FigureLine {
  /** Index of the run, from 0. */
  readonly run: number
  /** Single values, in the first batch of a run. */
  readonly once?: Partial<RunView>
  /** Items, points, or turns of the trajectory. */
  readonly rows: Packed
}

/** Maximum number of rows per batch. */
const maxRows = 5_000

export function outlineOf({ runs, ...view }: SessionView): SessionOutline {
  return { ...view, runs: runs.map(runOutline) }
}

/** Field by field, because reading a figure would compute it. */
function runOutline(run: RunView): RunOutline {
  const { runId, prompt, isCopy, isContinued, why, account, unpriced, records, parts } = run
  const { grade } = run.graded
  return { runId, prompt, isCopy, isContinued, graded: { grade }, why, account, unpriced, records, parts }
}

/** The figures of one run, or of all. */
export function* figureLines(view: SessionView, kind: FigureKind, only?: number): Generator<FigureLine> {
  for (const [run, of] of view.runs.entries()) {
    if (only !== undefined && run !== only) continue
    const { rows, once } = figuresOf(of, kind)
    for (let from = 0; from === 0 || from < rows.length; from += maxRows)
      yield { run, ...(from === 0 && { once }), rows: packed(rows.slice(from, from + maxRows)) }
  }
}

function figuresOf(
  run: RunView,
  kind: FigureKind,
): { readonly rows: readonly unknown[]; readonly once: Partial<RunView> } {
  switch (kind) {
    case 'items':
      return { rows: run.items, once: {} }
    case 'points':
      return { rows: run.points, once: { windows: run.windows } }
    case 'trajectory': {
      const { turns, ...trajectory } = run.trajectory
      return { rows: turns, once: { trajectory: { ...trajectory, turns: [] }, graded: run.graded } }
    }
  }
}
