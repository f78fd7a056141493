// The share of random cases: a twentieth by default, a sixteenth with HALTING_DEEP=1, which `.ci/run` sets, and all with HALTING_DEEP=all.

const depth = process.env['HALTING_DEEP']

/** Whether slow cases run too. */
export const isDeep: boolean = depth === '1' || depth === 'all'
/** Whether every case runs. */
export const isWhole: boolean = depth === 'all'

/** The number of cases to draw, out of this many. */
export const drawn = (count: number): number => (isWhole ? count : Math.ceil(count / (isDeep ? 16 : 20)))

/** All cases with HALTING_DEEP=all; otherwise one in `deep` for `.ci/run`, and one in `quick` by default. */
export function sampled<T>(
  cases: readonly T[],
  { deep, quick }: { readonly deep: number; readonly quick: number },
): readonly T[] {
  const step = isWhole ? 1 : isDeep ? deep : quick
  return cases.filter((_, at) => at % step === 0)
}
