// How much is drawn at random: a tenth for somebody who waits, a third with HALTING_DEEP=1, as `.ci/run` sets it, and all with HALTING_DEEP=all; streams are cut at every byte then.

const depth = process.env['HALTING_DEEP']

/** What takes long is tried too. */
export const isDeep: boolean = depth === '1' || depth === 'all'
/** Nothing is left out. */
export const isWhole: boolean = depth === 'all'

/** How many of so many cases are drawn. */
export const drawn = (count: number): number => (isWhole ? count : Math.ceil(count / (isDeep ? 3 : 10)))

/** Every place where a stream of this length can be cut; those near its ends and a sample between, where there are too many. */
export function* cutsOf(length: number, every: { readonly edge: number; readonly step: number }): Generator<number> {
  const most = isDeep ? 500 : 100
  const { edge, step } = isWhole
    ? every
    : { edge: Math.min(every.edge, 200), step: Math.max(every.step, isDeep ? 7 : 41, Math.ceil(length / most)) }
  for (let at = 1; at < length; at += at < edge || at > length - edge ? 1 : step) yield at
}

/** Outcomes that nobody expects, and where all is drawn those that never came: few cases may not meet what is rare. */
export function amiss(outcomes: ReadonlySet<string>, expected: readonly string[]): readonly string[] {
  const unexpected = [...outcomes].filter((outcome) => !expected.includes(outcome))
  return isWhole ? [...unexpected, ...expected.filter((outcome) => !outcomes.has(outcome))] : unexpected
}
