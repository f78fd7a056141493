import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { RunView, SessionView } from '@halting/analysis/view'
import { PlotFigure } from './plot-figure.tsx'
import { plotsOf } from './session-plots.ts'

/** Plots of one run: where its context, its dollars, its tokens, its time and its allowances went. */
export function PlotsView({ run }: { readonly view: SessionView; readonly run: RunView }): JSX.Element {
  const plots = useMemo(() => plotsOf(run), [run])
  const { unpriced } = run
  return (
    <div class="plots">
      {unpriced.length === 0 ? null : (
        <p class="note warn">No price is known for {unpriced.join(', ')}: its cost is not included in the dollars.</p>
      )}
      {plots.map((plot) => (
        <PlotFigure key={plot.name} plot={plot} />
      ))}
    </div>
  )
}
