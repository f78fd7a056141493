// Answers whose last change nobody checked: how often, of failed and of solved runs, and how often the loop would ask.
import { medianCell, shareOf } from '../cells.mjs'
import { byGroup, isHandedIn, tokensOf } from '../load.mjs'
import { play } from '../replay.mjs'
import { workOfSteps } from '../step-work.mjs'

const groups = /^(?:mini-swe-agent|Terminal-Bench, mini-swe-agent|SWE-bench Pro.*|live)$/

/** @param {import('../load.mjs').Data} data @returns {Promise<import('../cells.mjs').Table[]>} */
export async function uncheckedTables({ graded, live }) {
  const sources = [...byGroup([...graded, ...live].filter(({ steps = [] }) => steps.length > 0))].filter(([name]) => groups.test(name))
  const judged = []
  for (const [name, runs] of sources) {
    const all = []
    for (const run of runs) all.push(await judgedRun(run))
    judged.push([name, all])
  }
  return [changesTable(judged), questionsTable(judged)]
}

/** What the loop says of a run: whether its last change was checked, and whether the model would have been asked. */
async function judgedRun(run) {
  const work = workOfSteps(run.steps).filter((each) => each !== undefined)
  const calls = work.map((fileWork) => ({ tool: 'Step', input: {}, content: '', isError: false, ms: 0, fileWork }))
  const { verified, transitions } = await play(calls, { verification: { mode: 'ask', checks: () => [] } })
  const known = await play(calls, { verification: { mode: 'ask', checks: () => ['npm test'] } })
  const isAsked = (played) => played.includes('unverified_change')
  const last = run.steps.at(-1)
  return {
    outcome: run.outcome,
    isDone: isHandedIn(run) === true,
    verified,
    isAsked: isAsked(transitions),
    isAskedIfKnown: isAsked(known.transitions),
    usd: last.usd,
    tokens: tokensOf(last.tokens),
  }
}

function changesTable(judged) {
  const rows = judged.filter(([name]) => name !== 'live').flatMap(([name, runs]) => [
    rowOf(`${name}, all runs`, runs),
    rowOf(`${name}, runs handed in as done`, runs.filter(({ isDone }) => isDone)),
  ])
  return {
    id: 'unchecked',
    title: 'Runs whose last change was never checked',
    note: 'Of runs that changed files: the last change had no passing check behind it, by `verified` of the result. Steps of SWE-bench Pro by their classes, others by `commandWork`.',
    head: ['runs', 'runs that changed something', 'of those that failed', 'of those that were solved'],
    rows,
  }
}

function rowOf(name, runs) {
  const changed = runs.filter(({ verified }) => verified !== 'nothing changed')
  const unchecked = (outcome) => shareOf(changed.filter((run) => run.outcome === outcome), ({ verified }) => verified === false)
  return [name, shareOf(runs, ({ verified }) => verified !== 'nothing changed'), unchecked(false), unchecked(true)]
}

function questionsTable(judged) {
  const rows = judged.flatMap(([name, runs]) => {
    const done = runs.filter(({ isDone }) => isDone)
    const asked = done.filter(({ isAskedIfKnown }) => isAskedIfKnown)
    const kinds = name === 'live' ? [[name, null]] : [[`${name}, failed`, false], [`${name}, solved`, true]]
    return kinds.map(([title, outcome]) => {
      const some = done.filter((run) => run.outcome === outcome)
      const costs = asked.filter((run) => run.outcome === outcome)
      return [
        title,
        shareOf(some, ({ isAsked }) => isAsked),
        shareOf(some, ({ isAskedIfKnown }) => isAskedIfKnown),
        medianCell(costs.map(({ usd }) => usd), 'usd'),
        medianCell(costs.map(({ tokens }) => tokens), 'tokens'),
      ]
    })
  })
  return {
    id: 'unchecked-questions',
    title: 'How often the loop would ask to verify, and what a question costs',
    note: 'Of runs handed in as done. A check is known where one ran in the run, or where the project names one; with 3 changed lines or more. The request that asks is as large as the last one of the run: its median is the cost. What the model does after it is not on record.',
    head: ['runs', 'asked, a check ran in the run', 'asked, the project names a check', 'dollars of a question', 'tokens of a question'],
    rows,
  }
}
