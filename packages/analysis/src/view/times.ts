import { timeByPhase } from '../account/time-by-phase.ts'
import type { RecordedStep } from '../account/recorded-steps.ts'
import type { TurnPoint } from './types.ts'

interface Run {
  /** When it began, on the clock of the steps. */
  readonly beganAt: number
  readonly activeMs: number
}

/**
 * Where the time went from each of these moments of a run to the next, and from the last one to its end. A step that goes on for longer counts in each part with
 * what lies in it, so that the parts add up to the run.
 */
export function timesBetween(
  starts: readonly number[],
  steps: readonly RecordedStep[],
  { beganAt, activeMs }: Run,
): readonly TurnPoint['ms'][] {
  const pieces = starts.map((): RecordedStep[] => [])
  for (const step of steps) {
    const from = step.at - beganAt
    const to = from + step.durationMs
    for (let index = lastAtOrBefore(starts, from); index < starts.length; index++) {
      const start = Math.max(from, starts[index] ?? 0)
      const end = Math.min(to, starts[index + 1] ?? Infinity)
      if (end > start) pieces[index]?.push({ ...step, at: start, durationMs: end - start })
      if (to <= (starts[index + 1] ?? Infinity)) break
    }
  }
  return starts.map((start, index) => {
    const times = timeByPhase(pieces[index] ?? [])
    const counted = Object.values(times).reduce((sum, ms) => sum + ms, 0)
    const whole = Math.max(start, starts[index + 1] ?? activeMs) - start
    return { ...times, other: times.other + Math.max(0, whole - counted) }
  })
}

/** The place of the last start that is not after this moment; the first one for a moment before all. */
function lastAtOrBefore(starts: readonly number[], moment: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? Infinity) <= moment) low = middle
    else high = middle - 1
  }
  return low
}
