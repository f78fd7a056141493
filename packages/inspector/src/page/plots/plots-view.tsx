import type { JSX } from 'preact'
import type { RunView, SessionView } from '../../view/types.ts'

/** Plots of one run. */
export function PlotsView({ run }: { readonly view: SessionView; readonly run: RunView }): JSX.Element {
  return <p>{run.points.length} requests.</p>
}
