// The amount of random tests: a twentieth for a quick run, a sixteenth with HALTING_DEEP=1, as `.ci/run` sets it, and
// all with HALTING_DEEP=all. In the last case streams are cut at every byte.

import { drawn, isDeep, isWhole, sampled } from '../../../core/test/support/deep.ts'

export { drawn, isDeep, isWhole, sampled }

/**
 * Every place at which a stream of this length can be cut. If there are too many, those near its ends and a sample
 * between.
 */
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

/**
 * Unexpected outcomes, and in a whole run also expected ones that never happened. A small number of cases may miss rare
 * ones.
 */
export function amiss(outcomes: ReadonlySet<string>, expected: readonly string[]): readonly string[] {
  const unexpected = [...outcomes].filter((outcome) => !expected.includes(outcome))
  return isWhole ? [...unexpected, ...expected.filter((outcome) => !outcomes.has(outcome))] : unexpected
}
