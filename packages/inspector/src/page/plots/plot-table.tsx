import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { valueText, placeText, type Plot } from './plot.ts'

const rowsOfPage = 100

interface PlotTableProps {
  readonly plot: Plot
  /** Shows a button for each row that calls this. */
  readonly onChoose?: ((index: number) => void) | undefined
}

/** The values of a plot as a table, a hundred rows at a time: for screen readers, and for exact numbers. */
export function PlotTable(props: PlotTableProps): JSX.Element {
  const isOpen = useSignal(false)
  return (
    <details onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen.value ? <Rows {...props} /> : null}
    </details>
  )
}

function Rows({ plot, onChoose }: PlotTableProps): JSX.Element {
  const page = useSignal(0)
  const count = plot.x.values.length
  const pages = Math.max(1, Math.ceil(count / rowsOfPage))
  const currentPage = Math.min(page.value, pages - 1)
  const rows = plot.x.values.slice(currentPage * rowsOfPage, (currentPage + 1) * rowsOfPage)
  const marks = new Map(plot.marks.map(({ at, label }) => [at, label]))
  return (
    <>
      {pages === 1 ? null : (
        <p>
          <button type="button" disabled={currentPage === 0} onClick={() => (page.value = currentPage - 1)}>
            Earlier rows
          </button>{' '}
          <span role="status">
            Rows {currentPage * rowsOfPage + 1} to {Math.min(count, (currentPage + 1) * rowsOfPage)} of {count}
          </span>{' '}
          <button type="button" disabled={currentPage === pages - 1} onClick={() => (page.value = currentPage + 1)}>
            Later rows
          </button>
        </p>
      )}
      <div class="table-place" tabIndex={0} role="region" aria-label={`Values of ${plot.name}`}>
        <table class="numbers">
          <caption class="hidden-text">{plot.name}</caption>
          <thead>
            <tr>
              <th scope="col">{plot.x.label}</th>
              {plot.series.map(({ label }) => (
                <th key={label} scope="col">
                  {label}
                </th>
              ))}
              {marks.size === 0 ? null : <th scope="col">Marked</th>}
              {onChoose === undefined ? null : <th scope="col">Sessions</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((at, offset) => {
              const index = currentPage * rowsOfPage + offset
              return (
                <tr key={index}>
                  <th scope="row">{placeText(plot, index)}</th>
                  {plot.series.map(({ label, values, side }) => (
                    <td key={label}>{valueText(values[index] ?? null, plot[side])}</td>
                  ))}
                  {marks.size === 0 ? null : <td>{marks.get(at) ?? ''}</td>}
                  {onChoose === undefined ? null : (
                    <td>
                      <button type="button" onClick={() => onChoose(index)}>
                        Which
                      </button>
                    </td>
                  )}
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </>
  )
}
