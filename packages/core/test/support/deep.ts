// How much is drawn at random: a twentieth for somebody who waits, a sixteenth with HALTING_DEEP=1, as `.ci/run` sets it, and all with HALTING_DEEP=all.

const depth = process.env['HALTING_DEEP']

/** What takes long is tried too. */
export const isDeep: boolean = depth === '1' || depth === 'all'
/** Nothing is left out. */
export const isWhole: boolean = depth === 'all'

/** How many of so many cases are drawn. */
export const drawn = (count: number): number => (isWhole ? count : Math.ceil(count / (isDeep ? 16 : 20)))

/** All cases with HALTING_DEEP=all; of others one in `deep` for `.ci/run`, and one in `quick` for somebody who waits. */
export function sampled<T>(
  cases: readonly T[],
  { deep, quick }: { readonly deep: number; readonly quick: number },
): readonly T[] {
  const step = isWhole ? 1 : isDeep ? deep : quick
  return cases.filter((_, at) => at % step === 0)
}
