// `.ci/run` sets HALTING_DEEP=1: random tests draw all their cases, and streams are cut at every byte. Without it, for somebody who waits, a part.

export const isDeep: boolean = process.env['HALTING_DEEP'] === '1'

/** How many of so many cases are drawn. */
export const drawn = (count: number): number => (isDeep ? count : Math.ceil(count / 10))

/** Every place where a stream of this length can be cut; those near its ends and a sample between, where there are too many. */
export function* cutsOf(length: number, every: { readonly edge: number; readonly step: number }): Generator<number> {
  const { edge, step } = isDeep
    ? every
    : { edge: Math.min(every.edge, 200), step: Math.max(every.step, 41, Math.ceil(length / 100)) }
  for (let at = 1; at < length; at += at < edge || at > length - edge ? 1 : step) yield at
}

/** Outcomes that nobody expects, and in a deep run those that never came: few cases may not meet what is rare. */
export function amiss(outcomes: ReadonlySet<string>, expected: readonly string[]): readonly string[] {
  const unexpected = [...outcomes].filter((outcome) => !expected.includes(outcome))
  return isDeep ? [...unexpected, ...expected.filter((outcome) => !outcomes.has(outcome))] : unexpected
}
