// The share of random cases: a twentieth in quick runs, a sixteenth with HALTING_DEEP=1, as `.ci/run` sets it, and all
// with HALTING_DEEP=all.

export { drawn, isDeep, isWhole, sampled } from '../../../core/test/support/deep.ts'
