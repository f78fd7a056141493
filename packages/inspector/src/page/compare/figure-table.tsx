import type { JSX } from 'preact'
import { secondToFirst } from './compare-picture.ts'
import type { ComparedFigure } from './differences.ts'

/** Ending and totals of both sides. */
export function FigureTable({ figures }: { readonly figures: readonly ComparedFigure[] }): JSX.Element {
  return (
    <table class="compare-figures numbers">
      <caption class="hidden-text">Ending and totals</caption>
      <thead>
        <tr>
          <td />
          <th scope="col">First</th>
          <th scope="col">Second</th>
          <th scope="col">{secondToFirst}</th>
        </tr>
      </thead>
      <tbody>
        {figures.map(({ name, first, second, change }) => (
          <tr key={name} data-figure={name}>
            <th scope="row">{name}</th>
            <td>{first}</td>
            <td>{second}</td>
            <td class={change === 'the same' ? 'soft' : ''}>{change}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
