// All that stops a run of the program by itself, with nothing said: how often it stops runs that should go on.
import { shareOf } from '../cells.mjs'
import { byGroup, useOf } from '../load.mjs'
import { byDefault, withTexts } from './repetition.mjs'

/** Defaults of `halting -p` and of the interactive program (docs/guide/limits.md). */
const defaultRunUsd = 10
const defaultMaxTurns = 1000

/** @param {import('../load.mjs').Data} data @returns {Promise<import('../cells.mjs').Table[]>} */
export async function togetherTables({ graded, live }) {
  const runs = [...graded, ...live].filter(({ steps = [] }) => steps.length > 0)
  const texts = new Set(withTexts(runs))
  const judged = []
  for (const run of runs) {
    const { usd = 0, turns } = useOf(run)
    const isRepeating = texts.has(run) && (await byDefault(run)).isStopped
    judged.push({ run, hasTexts: texts.has(run), isRepeating, isDear: usd > defaultRunUsd, isLong: turns > defaultMaxTurns })
  }
  const policies = [
    ['repetition (`no_progress`)', ({ isRepeating }) => isRepeating, ({ hasTexts }) => hasTexts],
    [`${defaultMaxTurns.toLocaleString('en')} turns`, ({ isLong }) => isLong, () => true],
    [`$${defaultRunUsd} a run`, ({ isDear }) => isDear, ({ run }) => run.usd !== undefined],
    ['repetition and turns', ({ isRepeating, isLong }) => isRepeating || isLong, ({ hasTexts }) => hasTexts],
    ['all of them', ({ isRepeating, isLong, isDear }) => isRepeating || isLong || isDear, () => true],
  ]
  const row = (name, some, is) => [name, ...[true, null, false].map((outcome) => shareOf(some.filter(({ run }) => run.outcome === outcome), is))]
  const dear = [...byGroup(judged.filter(({ run }) => run.usd !== undefined), ({ run }) => (run.outcome === null ? 'people at work' : `${run.agent}, ${run.model}`))]
  return [
    {
      id: 'together',
      title: 'Runs that the defaults of the program stop',
      note: 'Solved runs and runs of people at work should not be stopped. Repetition is seen where texts are on record, dollars where the source has them. The question to verify stops nothing.',
      head: ['on by default', 'solved', 'live', 'failed'],
      rows: policies.map(([name, is, isKnown]) => row(name, judged.filter(isKnown), is)),
    },
    {
      id: 'together-dollars',
      title: '$10 a run, by agent and model',
      note: 'What the sources wrote down as dollars.',
      head: ['runs', 'solved', 'live', 'failed'],
      rows: dear.map(([name, some]) => row(name, some, ({ isDear }) => isDear)),
    },
  ]
}
