import type { Phase, RecordedStep } from './recorded-steps.ts'

/** Where several run at once, the time is of the first of these. */
const order: readonly Phase[] = ['model', 'compaction', 'tools', 'hooks', 'checks', 'waiting', 'other']

/** How long each phase took. A moment counts once, also where steps run beside each other: the parts never exceed the whole. */
export function timeByPhase(steps: readonly RecordedStep[]): Readonly<Record<Phase, number>> {
  const edges = steps
    .filter(({ durationMs }) => durationMs > 0)
    .flatMap(({ phase, at, durationMs }) => [
      { at, phase, change: 1 },
      { at: at + durationMs, phase, change: -1 },
    ])
    .toSorted((a, b) => a.at - b.at)
  const going = { model: 0, compaction: 0, tools: 0, hooks: 0, checks: 0, waiting: 0, other: 0 }
  const spent = { ...going }
  let last = 0
  for (const { at, phase, change } of edges) {
    const counted = order.find((each) => going[each] > 0)
    if (counted !== undefined) spent[counted] += at - last
    last = at
    going[phase] += change
  }
  return spent
}
