import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { isDollars, limitFrom, limitWords, sliderOf, usedText, type LimitName } from './limits.ts'

interface LimitRowProps {
  readonly name: LimitName
  /** How much of it the run used. */
  readonly used: number
  /** The run's own limit; null for none. */
  readonly had: number | null
  readonly chosen: number | undefined
  readonly onChoose: (value: number | undefined) => void
}

/** Controls for one limit: a slider, a number field, and a reset button. */
export function LimitRow({ name, used, had, chosen, onChoose }: LimitRowProps): JSX.Element {
  const { label, unit, factor, format } = limitWords[name]
  const { min, max, step } = sliderOf(name, used)
  const id = useId()
  // The text while it is typed: `0.` on the way to `0.05` is not a valid limit, and must not be removed.
  const typed = useSignal('')
  return (
    <fieldset class="what-if-limit">
      <legend>{label}</legend>
      <span class="soft" id={`${id}-was`}>
        {usedText(name, used, had)}
      </span>
      <input
        type="range"
        aria-label={`${label}: slider`}
        aria-describedby={`${id}-was`}
        aria-valuetext={chosen === undefined ? 'unchanged' : format(chosen)}
        min={min}
        max={max}
        step={step}
        value={Math.min(max, chosen ?? max)}
        onInput={({ currentTarget }) => onChoose(valueOf(name, currentTarget.valueAsNumber))}
      />
      <span class="what-if-value">
        <label>
          <input
            type="number"
            min={0}
            step="any"
            placeholder="unchanged"
            aria-label={`${label}: ${unit}`}
            value={limitFrom(name, typed.value) === chosen ? typed.value : valueText(chosen, factor)}
            onInput={({ currentTarget }) => {
              typed.value = currentTarget.value
              onChoose(limitFrom(name, typed.value))
            }}
          />{' '}
          {unit}
        </label>
        <button
          type="button"
          disabled={chosen === undefined}
          aria-label={`${label}: reset`}
          onClick={() => {
            typed.value = ''
            onChoose(undefined)
          }}
        >
          Reset
        </button>
      </span>
    </fieldset>
  )
}

/** Rounds slider values, which are not numbers that a person would type. */
function valueOf(name: LimitName, value: number): number {
  return isDollars(name) ? Number(value.toPrecision(9)) : Math.max(1, Math.round(value))
}

function valueText(chosen: number | undefined, factor: number): string {
  return chosen === undefined ? '' : String(Number((chosen / factor).toPrecision(12)))
}
