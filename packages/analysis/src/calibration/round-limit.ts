import type { RunUse } from '../grades/graded-run.ts'

const minute = 60_000

/** Up to this long a limit on time is a multiple of this, in milliseconds. */
const timeSteps: readonly (readonly [number, number])[] = [
  [minute, 5_000],
  [10 * minute, 30_000],
  [60 * minute, minute],
  [600 * minute, 5 * minute],
  [Infinity, 30 * minute],
]

/** The figure at or above it that a person would type: two digits that count, and whole steps of seconds, minutes or cents. */
export function roundedUp(figure: keyof RunUse, value: number): number {
  switch (figure) {
    case 'usd':
      return upToStep(value, Math.max(0.01, stepOf(value)))
    case 'tokens':
    case 'turns':
      return upToStep(value, Math.max(1, stepOf(value)))
    case 'activeMs':
      return upToStep(value, timeSteps.find(([most]) => value <= most)?.[1] ?? minute)
  }
}

/** The place of the second digit. */
function stepOf(value: number): number {
  return 10 ** (Math.floor(Math.log10(value)) - 1)
}

function upToStep(value: number, step: number): number {
  const times = (steps: number): number => (step < 1 ? steps / Math.round(1 / step) : steps * step)
  // Steps below one are no exact numbers: 0.07 / 0.01 is a little more than 7.
  const steps = Math.floor(value / step + 1e-9)
  return times(steps) >= value ? times(steps) : times(steps + 1)
}
