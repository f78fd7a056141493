// How much is drawn at random: a twentieth for somebody who waits, a sixth with HALTING_DEEP=1, as `.ci/run` sets it, and all with HALTING_DEEP=all; streams are cut at every byte then.

const depth = process.env['HALTING_DEEP']

/** What takes long is tried too. */
export const isDeep: boolean = depth === '1' || depth === 'all'
/** Nothing is left out. */
export const isWhole: boolean = depth === 'all'

/** How many of so many cases are drawn. */
export const drawn = (count: number): number => (isWhole ? count : Math.ceil(count / (isDeep ? 6 : 20)))

/** Every place where a stream of this length can be cut; those near its ends and a sample between, where there are too many. */
export function* cutsOf(length: number, every: { readonly edge: number; readonly step: number }): Generator<number> {
  const most = isDeep ? 250 : 50
  const { edge, step } = isWhole
    ? every
    : {
        edge: Math.min(every.edge, isDeep ? 100 : 30),
        step: Math.max(every.step, isDeep ? 7 : 41, Math.ceil(length / most)),
      }
  for (let at = 1; at < length; at += at < edge || at > length - edge ? 1 : step) yield at
}

/** Outcomes that nobody expects, and where all is drawn those that never came: few cases may not meet what is rare. */
export function amiss(outcomes: ReadonlySet<string>, expected: readonly string[]): readonly string[] {
  const unexpected = [...outcomes].filter((outcome) => !expected.includes(outcome))
  return isWhole ? [...unexpected, ...expected.filter((outcome) => !outcomes.has(outcome))] : unexpected
}

/** All cases with HALTING_DEEP=all; of others one in `deep` for `.ci/run`, and one in `quick` for somebody who waits. */
export function sampled<T>(
  cases: readonly T[],
  { deep, quick }: { readonly deep: number; readonly quick: number },
): readonly T[] {
  const step = isWhole ? 1 : isDeep ? deep : quick
  return cases.filter((_, at) => at % step === 0)
}
