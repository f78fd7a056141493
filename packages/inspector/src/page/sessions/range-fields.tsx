import type { JSX } from 'preact'
import { rangeDimensions, withRange, type Range, type RangeDimension, type SessionFilter } from './filter.ts'

interface RangeFieldsProps {
  readonly filter: SessionFilter
  readonly onFilter: (filter: SessionFilter) => void
}

interface FieldKind {
  readonly title: string
  /** Factor from the unit of the field to that of the row: the field for time is in seconds. */
  readonly unit: number
}

const kinds: { readonly [dimension in RangeDimension]: FieldKind } = {
  costUsd: { title: 'Dollars', unit: 1 },
  turns: { title: 'Turns', unit: 1 },
  tokens: { title: 'Tokens', unit: 1 },
  activeMs: { title: 'Time, in seconds', unit: 1_000 },
  calls: { title: 'Calls', unit: 1 },
  failedCalls: { title: 'Failed calls', unit: 1 },
  changedAt: { title: 'Changed', unit: 1 },
}

/** Lower and upper bounds for every figure. */
export function RangeFields({ filter, onFilter }: RangeFieldsProps): JSX.Element {
  const set = rangeDimensions.filter((dimension) => filter.ranges[dimension] !== undefined).length
  return (
    <details class="choice ranges">
      <summary>Ranges{set === 0 ? '' : ` (${set})`}</summary>
      <div class="range-grid">
        {rangeDimensions.map((dimension) => (
          <fieldset key={dimension}>
            <legend>{kinds[dimension].title}</legend>
            <Field {...{ filter, onFilter, dimension, bound: 'from' }} />
            <Field {...{ filter, onFilter, dimension, bound: 'below' }} />
          </fieldset>
        ))}
      </div>
    </details>
  )
}

interface FieldProps extends RangeFieldsProps {
  readonly dimension: RangeDimension
  readonly bound: keyof Range
}

function Field({ filter, onFilter, dimension, bound }: FieldProps): JSX.Element {
  const { unit } = kinds[dimension]
  const value = filter.ranges[dimension]?.[bound]
  const isTime = dimension === 'changedAt'
  const change = (text: string): void => {
    const bounded = text === '' ? undefined : isTime ? new Date(text).getTime() : Number(text) * unit
    const { [bound]: _, ...other } = filter.ranges[dimension] ?? {}
    const isValid = bounded !== undefined && Number.isFinite(bounded)
    onFilter(withRange(filter, dimension, isValid ? { ...other, [bound]: bounded } : other))
  }
  return (
    <label>
      {bound}
      <input
        type={isTime ? 'datetime-local' : 'number'}
        min="0"
        step="any"
        value={value === undefined ? '' : isTime ? localTime(value) : value / unit}
        onChange={({ currentTarget }) => change(currentTarget.value)}
      />
    </label>
  )
}

/** A local time without a zone, as the field expects it. */
function localTime(at: number): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
