import { configureGlobal } from 'fast-check'

/**
 * What random tests draw with: always the same, so that a change is what makes a test fail. `HALTING_SEED=random` draws other cases,
 * `HALTING_SEED=N` those of a seed that a failure printed.
 */
const said = process.env['HALTING_SEED']

if (said !== 'random') configureGlobal({ seed: Number(said ?? 20_261_123) })
