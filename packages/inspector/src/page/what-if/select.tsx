import type { JSX } from 'preact'

interface SelectProps {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly onChoose: (value: string) => void
}

/** A drop-down list. */
export function Select({ label, value, options, onChoose }: SelectProps): JSX.Element {
  return (
    <p>
      <label>
        {label}{' '}
        <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
          {options.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      </label>
    </p>
  )
}
