// Among runs of one model at one task: do those that fail take longer? Here the task is not what makes both.
import { figure } from '../cells.mjs'
import { byGroup, useOf } from '../load.mjs'
import { areaOf, clusteredRatio } from '../statistics.mjs'

const figures = { turns: 'turns', tokens: 'tokens', ms: 'time', usd: 'dollars' }

/** @param {import('../load.mjs').Data} data @param {{ seed: number }} options @returns {import('../cells.mjs').Table[]} */
export function sameTaskTables({ graded, runsOnly }, { seed }) {
  const sources = [
    ['mcpmark', runsOnly.filter(({ source }) => source.startsWith('eval-sys/'))],
    ['Terminal-Bench, runs without steps', runsOnly.filter(({ source }) => source.startsWith('laude-institute/'))],
    ['tau-bench', graded.filter(({ source }) => source.startsWith('sierra-research/'))],
  ]
  const rows = sources.flatMap(([name, runs]) => Object.keys(figures).flatMap((each) => rowOf(name, runs, each, seed)))
  return [
    {
      id: 'foretelling-same-task',
      title: 'What foretells failure, among runs of one agent and model',
      note: 'As above: 0.5 is no better than a coin. In the last column only runs of the same agent and model at the same task are compared, so that a hard task does not count as a sign of failure.',
      head: ['runs', 'figure', 'any task', 'the same task', 'pairs at the same task'],
      rows,
    },
  ]
}

function rowOf(name, runs, each, seed) {
  const known = runs.flatMap((run) => {
    const score = useOf(run)[each]
    return score === undefined || score <= 0 ? [] : [{ score, failed: run.outcome === false, cluster: run.task, group: `${run.agent}, ${run.model}` }]
  })
  if (known.length === 0) return []
  const ofGroups = [...byGroup(known, ({ group }) => group).values()].map((some) => ({ area: areaOf(some, seed, 1), some })).filter(({ area }) => area !== undefined)
  if (ofGroups.length === 0) return []
  const pairs = [...byGroup(known, ({ group, cluster }) => `${group}, ${cluster}`).values()].flatMap(pairsOf)
  const weights = ofGroups.reduce((sum, { some }) => sum + some.length, 0)
  const anyTask = ofGroups.reduce((sum, { area, some }) => sum + area.value * some.length, 0) / weights
  return [[name, figures[each], figure(anyTask, 'area'), figure(clusteredRatio(pairs, seed), 'area'), pairs.reduce((sum, { whole }) => sum + whole, 0)]]
}

/** How often a failed run has more than a solved one; of runs that are alike, half. */
function pairsOf(runs) {
  const failed = runs.filter((run) => run.failed)
  const solved = runs.filter((run) => !run.failed)
  if (failed.length === 0 || solved.length === 0) return []
  const [{ cluster }] = runs
  let part = 0
  for (const { score } of failed) for (const other of solved) part += score > other.score ? 1 : score === other.score ? 0.5 : 0
  return [{ cluster, part, whole: failed.length * solved.length }]
}
