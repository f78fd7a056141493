// How many random cases are drawn: a twentieth in quick runs, a sixteenth with HALTING_DEEP=1, as in `.ci/run`, and all with HALTING_DEEP=all.

export { drawn, isDeep, isWhole, sampled } from '../../../core/test/support/deep.ts'

const seed = process.env['HALTING_SEED'] ?? '1'

/** The seed of generated commands and lines of shell: constant, the one of `HALTING_SEED`, or random. */
export const generatorSeed: number = seed === 'random' ? Date.now() % 1_000_000 : Number(seed)
