import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Picture } from '../picture/picture.ts'
import { PictureButtons } from '../picture/picture-buttons.tsx'
import { fullRange, legendLabel, movedBy, zoomedBy, type Plot, type VisibleRange } from './plot.ts'
import { PlotCanvas } from './plot-canvas.tsx'
import { PlotTable } from './plot-table.tsx'
import { pictureOfPlot } from './plot-picture.ts'

interface PlotFigureProps {
  readonly plot: Plot
  /** Called when a value is selected by click, key or in the table. */
  readonly onChoose?: (index: number) => void
  /** Builds a picture that shows more than the plot. */
  readonly pictureOf?: (plot: Plot, seen: VisibleRange, hidden: ReadonlySet<string>) => Picture
}

/** A plot with its legend, zoom buttons, a table of values, and buttons for pictures. */
export function PlotFigure({ plot, onChoose, pictureOf = pictureOfPlot }: PlotFigureProps): JSX.Element {
  const hidden = useSignal<ReadonlySet<string>>(new Set())
  const zoomed = useSignal<VisibleRange | null>(null)
  const all = useMemo(() => fullRange(plot), [plot])
  // When the session grows, the zoomed range stays.
  const seen = zoomed.value ?? all
  const see = (next: VisibleRange): void => {
    zoomed.value = next.from <= all.from && next.to >= all.to ? null : next
  }
  const toggle = (label: string): void => {
    const next = new Set(hidden.value)
    if (!next.delete(label)) next.add(label)
    hidden.value = next
  }
  const isEmpty = plot.series.length === 0 || plot.x.values.length === 0
  return (
    <figure class="plot" aria-label={plot.name}>
      <figcaption>
        <h2>{plot.name}</h2>
        <p class="soft">{plot.about}</p>
      </figcaption>
      {isEmpty ? (
        <p class="note">Nothing is recorded.</p>
      ) : (
        <>
          <div class="plot-bar" role="group" aria-label={`Series of ${plot.name}`}>
            {plot.series.map((series) => {
              const { label, color } = series
              return (
                <button
                  key={label}
                  type="button"
                  class="plot-series"
                  aria-pressed={!hidden.value.has(label)}
                  onClick={() => toggle(label)}
                >
                  <span
                    class="plot-color"
                    ref={(element) => element?.style.setProperty('background', `var(--${color})`)}
                  />
                  {legendLabel(plot, series)}
                </button>
              )
            })}
          </div>
          <PlotCanvas plot={plot} hidden={hidden.value} seen={seen} onSeen={see} onChoose={onChoose} />
          <div class="plot-bar" role="group" aria-label={`Visible part of ${plot.name}`}>
            <button type="button" onClick={() => see(zoomedBy(seen, all, 0.5))}>
              Zoom in
            </button>
            <button type="button" disabled={zoomed.value === null} onClick={() => see(zoomedBy(seen, all, 2))}>
              Zoom out
            </button>
            <button type="button" disabled={zoomed.value === null} onClick={() => see(movedBy(seen, all, -0.5))}>
              Earlier
            </button>
            <button type="button" disabled={zoomed.value === null} onClick={() => see(movedBy(seen, all, 0.5))}>
              Later
            </button>
            <button type="button" disabled={zoomed.value === null} onClick={() => (zoomed.value = null)}>
              All
            </button>
            <PictureButtons name={plot.name} pictureOf={() => pictureOf(plot, seen, hidden.value)} />
          </div>
          <PlotTable plot={plot} onChoose={onChoose} />
        </>
      )}
    </figure>
  )
}
