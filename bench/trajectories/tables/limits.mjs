// Limits that are calibrated on solved runs of half of the tasks, and tried on the other half.
import { calibrateLimits } from '@halting/analysis'
import { figure } from '../cells.mjs'
import { byGroup, useOf } from '../load.mjs'
import { clusteredRatio, randomOf, shuffled } from '../statistics.mjs'

const sharesToLose = [0.01, 0.02, 0.05, 0.1]
const figures = { usd: 'dollars', tokens: 'tokens', activeMs: 'time', turns: 'turns' }
const splits = 12

/**
 * A run as the product calibrates on it, with its task.
 * @param {import('../load.mjs').RecordedRun} run @param {string} model what one limit is calibrated for
 */
function gradedRun(run, model) {
  const { usd = null, tokens, ms, turns } = useOf(run)
  return {
    sessionId: `${run.task} ${run.trial ?? ''}`,
    model,
    repository: run.source,
    use: { usd, tokens: tokens ?? 0, activeMs: ms ?? 0, turns: turns ?? 0 },
    grade: { isGood: run.outcome === true, by: 'goal' },
    task: run.task,
  }
}

/** Sources that have enough solved runs, each with what one limit is for. @param {import('../load.mjs').Data} data */
function sourcesOf({ graded, runsOnly }) {
  const mcpmark = runsOnly.filter(({ source }) => source.startsWith('eval-sys/'))
  const terminalBench = runsOnly.filter(({ source }) => source.startsWith('laude-institute/'))
  const agentAndModel = ({ agent, model }) => `${agent}, ${model}`
  const withSteps = [...byGroup(graded)].filter(([name]) => name === 'mini-swe-agent' || name.startsWith('SWE-bench Pro'))
  return [
    ['mcpmark, a limit for each model', mcpmark, agentAndModel],
    ['mcpmark, one limit for all models', mcpmark, () => 'all'],
    ...withSteps.map(([name, runs]) => [name, runs, agentAndModel]),
    ['Terminal-Bench, a limit for each agent and model', terminalBench, agentAndModel],
  ].filter(([, runs]) => runs.length > 0)
}

/** @param {import('../load.mjs').Data} data @param {{ seed: number }} options @returns {import('../cells.mjs').Table[]} */
export function limitTables(data, { seed }) {
  const rows = sourcesOf(data).flatMap(([name, runs, modelOf]) => {
    const graded = runs.map((run) => gradedRun(run, modelOf(run)))
    return Object.keys(figures).flatMap((each) => rowsOfFigure(name, graded.filter(({ use }) => use[each] > 0).map((run) => withFigure(run, each)), each, seed))
  })
  const note = `Limits of calibrateLimits, from the solved runs of a random half of the tasks, tried on the other half; ${splits} such halves. A solved run that is stopped counts as lost, and one that is not solved saves what it used beyond the limit. Saved is of what all runs of the other half used. In brackets 95 % intervals, by drawing tasks. A group whose half has too few solved runs for a share gets no limit: its runs are not counted.`
  return [
    {
      id: 'limits',
      title: 'Limits calibrated on solved runs',
      note,
      head: ['runs', 'limit on', 'share that may be lost', 'solved runs that were lost', 'saved', 'groups that got a limit'],
      rows,
    },
  ]
}

const nothing = { usd: 0, tokens: 0, activeMs: 0, turns: 0 }

/** The run with one figure alone: limits on others are not made. */
const withFigure = (run, each) => ({ ...run, use: { ...nothing, [each]: run.use[each] } })

function rowsOfFigure(name, runs, each, seed) {
  const tasks = [...new Set(runs.map(({ task }) => task))]
  const groups = new Set(runs.map(({ model }) => model)).size
  return sharesToLose.flatMap((mayLose) => {
    const [lost, saved] = [[], []]
    let limited = 0
    for (let split = 0; split < splits; split++) {
      const half = new Set(shuffled(tasks, randomOf(seed + split)).slice(0, Math.floor(tasks.length / 2)))
      const limits = limitsFrom(runs.filter(({ task, grade }) => grade.isGood && half.has(task)), each, mayLose)
      limited += limits.size
      for (const { task, model, use, grade } of runs) {
        const limit = limits.get(model)
        if (limit === undefined || half.has(task)) continue
        const isStopped = use[each] > limit
        if (grade.isGood) lost.push({ cluster: task, part: isStopped ? 1 : 0, whole: 1 })
        saved.push({ cluster: task, part: isStopped && !grade.isGood ? use[each] - limit : 0, whole: use[each] })
      }
    }
    if (limited === 0) return []
    const cells = [lost, saved].map((some) => figure(clusteredRatio(some, seed), '%'))
    return [[name, figures[each], `${100 * mayLose} %`, ...cells, groups === 1 ? '1 of 1' : `${(limited / splits).toFixed(1)} of ${groups}`]]
  })
}

/** What the limits make of the runs that they are calibrated on is not asked: the other half says it. */
const untouched = { stops: 'no', saved: nothing }

/** The limit on one figure by group. Of the solved runs alone, since those that failed do not move it. */
function limitsFrom(solved, each, mayLose) {
  const { groups } = calibrateLimits(solved, { mayLose, under: () => untouched })
  const found = new Map()
  for (const { model, repository, limits } of groups)
    if (model !== null && repository !== null && limits[each].kind === 'limit') found.set(model, limits[each].limit)
  return found
}
