// How much is drawn at random: a twentieth for somebody who waits, a sixteenth with HALTING_DEEP=1, as `.ci/run` sets it, and all with HALTING_DEEP=all.

export { drawn, isDeep, isWhole, sampled } from '../../../core/test/support/deep.ts'

const seed = process.env['HALTING_SEED'] ?? '1'

/** What commands and lines of shell are generated with: always the same, those of `HALTING_SEED`, or others each time. */
export const generatorSeed: number = seed === 'random' ? Date.now() % 1_000_000 : Number(seed)
