import type { Phase, RecordedStep } from './recorded-steps.ts'

/** When steps of several phases overlap, the time counts for the first of these. */
const order: readonly Phase[] = ['model', 'compaction', 'tools', 'hooks', 'checks', 'waiting', 'other']

/** Milliseconds of each phase. Overlapping steps count once, so that the parts never exceed the whole. */
export function timeByPhase(steps: readonly RecordedStep[]): Readonly<Record<Phase, number>> {
  const edges = steps
    .filter(({ durationMs }) => durationMs > 0)
    .flatMap(({ phase, at, durationMs }) => [
      { at, phase, change: 1 },
      { at: at + durationMs, phase, change: -1 },
    ])
    .toSorted((a, b) => a.at - b.at)
  const active = { model: 0, compaction: 0, tools: 0, hooks: 0, checks: 0, waiting: 0, other: 0 }
  const totals = { ...active }
  let last = 0
  for (const { at, phase, change } of edges) {
    const counted = order.find((each) => active[each] > 0)
    if (counted !== undefined) totals[counted] += at - last
    last = at
    active[phase] += change
  }
  return totals
}
