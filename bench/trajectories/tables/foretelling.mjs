// Whether anything inside a run foretells that it will fail.
import { figure, shareOf } from '../cells.mjs'
import { byGroup, groupOf, isCall, isHandedIn, tokensOf } from '../load.mjs'
import { areaOf, decisionTree, logisticRegression, quantile, scoresByOthers } from '../statistics.mjs'
import { workOfSteps } from '../step-work.mjs'

const known = (values) => values.filter((value) => value !== undefined && value !== null)
const sum = (values) => (known(values).length === 0 ? undefined : known(values).reduce((total, value) => total + value, 0))
const mean = (values) => (known(values).length === 0 ? undefined : sum(values) / known(values).length)

/** How many are the same as an earlier one. @param {readonly (string | undefined)[]} values */
function comeAgain(values) {
  const some = known(values)
  return some.length === 0 ? undefined : some.length - new Set(some).size
}

function maxEqual(values) {
  const counts = new Map()
  for (const value of known(values)) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts.size === 0 ? undefined : Math.max(...counts.values())
}

function longestRow(steps, is) {
  let [longest, row] = [0, 0]
  for (const step of steps) {
    row = is(step) ? row + 1 : 0
    longest = Math.max(longest, row)
  }
  return longest
}

const isError = ({ error }) => error === true
const hasErrors = (steps) => steps.some(({ error }) => error !== undefined)
const errorsIn = (steps) => (hasErrors(steps) ? steps.filter(isError).length : undefined)
const callText = ({ tool, input }) => (input === undefined ? undefined : `${tool} ${input.sha}`)
const kindsKnown = (steps) => steps.some(({ kind, tool }) => kind !== undefined || tool === 'bash')
const kindOfStep = ({ work }) => (work?.check !== undefined ? 'check' : work === undefined ? 'other' : 'change')
const countKind = (steps, kind) => (kindsKnown(steps) ? steps.filter((step) => kindOfStep(step) === kind).length : undefined)
const lastQuarter = (steps) => steps.slice(-Math.max(1, Math.floor(steps.length / 4)))

/** Simple figures of a run or of its beginning, by name. @type {Record<string, (steps: readonly import('../load.mjs').Step[]) => number | undefined>} */
export const figuresOfRuns = {
  turns: (steps) => steps.length,
  'failing steps': errorsIn,
  'share of failing steps': (steps) => (hasErrors(steps) ? errorsIn(steps) / steps.length : undefined),
  'share of failing steps, last quarter': (steps) => (hasErrors(steps) ? errorsIn(lastQuarter(steps)) / lastQuarter(steps).length : undefined),
  'failing steps in a row': (steps) => (hasErrors(steps) ? longestRow(steps, isError) : undefined),
  'last step failed': (steps) => (hasErrors(steps) ? Number(isError(steps.at(-1) ?? {})) : undefined),
  tokens: (steps) => sum(steps.map(({ tokens }) => tokensOf(tokens))),
  'tokens of the last request': (steps) => tokensOf(steps.at(-1)?.tokens),
  'tokens written': (steps) => sum(steps.map(({ tokens }) => tokens?.out)),
  dollars: (steps) => sum(steps.map(({ usd }) => usd)),
  seconds: (steps) => sum(steps.map(({ ms }) => ms)),
  'seconds a step': (steps) => mean(steps.map(({ ms }) => ms)),
  'calls made before': (steps) => comeAgain(steps.filter(isCall).map(callText)),
  'the call made most often': (steps) => maxEqual(steps.filter(isCall).map(callText)),
  'outputs seen before': (steps) => comeAgain(steps.filter(isCall).map(({ output }) => output?.mask)),
  'steps of text alone': (steps) => (steps.some(({ input }) => input !== undefined) ? steps.filter((step) => !isCall(step)).length : undefined),
  'characters of output, mean': (steps) => mean(steps.map(({ output }) => output?.len)),
  'characters of input, mean': (steps) => mean(steps.map(({ input }) => input?.len)),
  edits: (steps) => countKind(steps, 'change'),
  checks: (steps) => countKind(steps, 'check'),
  'share of edits': (steps) => (kindsKnown(steps) ? countKind(steps, 'change') / steps.length : undefined),
  'share before the first edit': (steps) => {
    const at = steps.findIndex((step) => kindOfStep(step) === 'change')
    return kindsKnown(steps) ? (at === -1 ? steps.length : at) / steps.length : undefined
  },
  'steps since the last edit': (steps) => (kindsKnown(steps) ? steps.length - 1 - steps.findLastIndex((step) => kindOfStep(step) === 'change') : undefined),
}

const names = Object.keys(figuresOfRuns)
const fewestRuns = 50
/** The share of solved runs that a rule may lose, for the last row. */
const mayLose = 0.02

/** @param {import('../load.mjs').Data} data @param {{ seed: number }} options @returns {import('../cells.mjs').Table[]} */
export function foretellingTables({ graded }, { seed }) {
  const withSteps = graded.filter(({ steps = [] }) => steps.length > 0).map(withWork)
  const groups = [...byGroup(withSteps, groupOf)].filter(([, runs]) => runs.length >= fewestRuns)
  const note =
    'The chance that a failed run has a higher figure than a solved one: 0.5 is no better than a coin, below 0.5 the figure is lower where runs fail. In brackets 95 % intervals, by drawing tasks. Regression and tree are trained on all figures of this table, and judged by tasks that they have not seen. The last row is what a rule would find that stops 2 % of the solved runs.'
  return [tableOf('foretelling-end', 'What foretells failure, at the end of runs', 1), tableOf('foretelling-half', 'What foretells failure, at half of the turns of runs', 0.5)]

  function tableOf(id, title, part) {
    const all = groups.map(([, runs]) => runs.map((run) => rowOfRun(run, part)))
    const simple = names.map((name, index) => [name, ...all.map((rows) => areaCell(rows.map((row) => ({ ...row, score: row.features[index] })), seed))])
    const judged = (rows, train) => {
      const scores = scoresByOthers(rows, train, seed)
      return areaCell(rows.map((row, at) => ({ ...row, score: scores[at] })), seed)
    }
    const found = (rows) => {
      const scores = scoresByOthers(rows, logisticRegression, seed)
      const most = quantile(scores.filter((_, at) => !rows[at].failed), 1 - mayLose)
      return shareOf(scores.filter((_, at) => rows[at].failed), (score) => score > most)
    }
    const learned = [
      ['logistic regression of all', ...all.map((rows) => judged(rows, logisticRegression))],
      ['tree of all, depth 3', ...all.map((rows) => judged(rows, decisionTree))],
      ['regression, runs handed in as done', ...all.map((rows) => judged(rows.filter(({ isDone }) => isDone), logisticRegression))],
      [`failures above the regression's score of ${100 - 100 * mayLose} % of solved runs`, ...all.map(found)],
    ]
    const counted = ['runs', ...groups.map(([, runs]) => runs.length)]
    return { id, title, note, head: ['figure', ...groups.map(([name]) => name)], rows: [counted, ...simple, ...learned] }
  }
}

/** The run with what each step did to files. */
function withWork(run) {
  const work = workOfSteps(run.steps)
  return { ...run, steps: run.steps.map((step, index) => ({ ...step, work: work[index] })) }
}

function rowOfRun(run, part) {
  const steps = run.steps.slice(0, Math.ceil(run.steps.length * part))
  const features = names.map((name) => figuresOfRuns[name](steps) ?? Number.NaN)
  return { features, failed: run.outcome === false, cluster: run.task, isDone: isHandedIn(run) !== false }
}

function areaCell(rows, seed) {
  const some = rows.filter(({ score }) => Number.isFinite(score))
  if (some.length < fewestRuns / 2 || new Set(some.map(({ score }) => score)).size < 2) return undefined
  return figure(areaOf(some, seed), 'area')
}
