// Runs that repeat themselves: what the guard of the product makes of them, and what other rules would.
import { noProgress } from '@halting/core'
import { nearestCycle, turnHash, withNewest } from '@halting/core/steps'
import { shareOf } from '../cells.mjs'
import { byGroup } from '../load.mjs'
import { playedPieces } from '../played-calls.mjs'
import { play } from '../replay.mjs'

/** Its steps are phases of a program, without inputs: a phase that comes again is no call that is repeated. */
const isOfPhases = ({ agent }) => agent === 'autocoderover'

/** Runs of which inputs and outputs are on record. @param {readonly import('../load.mjs').RecordedRun[]} runs */
export const withTexts = (runs) => runs.filter((run) => !isOfPhases(run) && (run.steps ?? []).some(({ input }) => input !== undefined))

const known = new WeakMap()

/** What the guard that is on by default makes of a run. @param {import('../load.mjs').RecordedRun} run */
export async function byDefault(run) {
  if (!known.has(run)) known.set(run, await guarded(run, { stopWhen: [noProgress()] }))
  return known.get(run)
}

/** Whether the loop reminds in a run of equal turns or of something else, and whether it stops it. */
async function guarded(run, options, compared = {}) {
  const found = { isReminded: false, isRemindedOfOthers: false, isStopped: false }
  for (const piece of playedPieces(run, compared)) {
    const { reminders, reason } = await play(piece, options)
    found.isReminded ||= reminders.includes('same turns')
    found.isRemindedOfOthers ||= reminders.includes('other')
    if (reason === 'no_progress') return { ...found, isStopped: true }
  }
  return found
}

/** The rule before: after 5 rounds of exactly equal turns a reminder, after 5 more the end. Cycles by the code of the product. */
function byOldRule(run) {
  let isReminded = false
  for (const piece of playedPieces(run, { compared: 'exact' })) {
    let recent = []
    for (const { tool: name, input, content, ms } of piece) {
      recent = withNewest(recent, turnHash([{ type: 'tool_use', id: '', name, input }], [{ type: 'tool_result', tool_use_id: '', content }], ms >= 5000))
      const cycle = nearestCycle(recent, 5)
      if (cycle === undefined || cycle.repeats < cycle.limit) continue
      if (isReminded) return { isReminded, isRemindedOfOthers: false, isStopped: true }
      isReminded = true
      recent = []
    }
  }
  return { isReminded, isRemindedOfOthers: false, isStopped: false }
}

/** Whether one error came so often, without numbers and hashes. */
function hasErrorTimes(run, times) {
  const counts = new Map()
  for (const { error, output } of run.steps) {
    if (error !== true || output.len === 0) continue
    counts.set(output.mask, (counts.get(output.mask) ?? 0) + 1)
  }
  return [...counts.values()].some((count) => count >= times)
}

const rules = [
  ['the guard: reminds at 3, stops at 5', byDefault],
  ['the same, outputs compared by their ends alone', (run) => guarded(run, { stopWhen: [noProgress()] }, { compared: 'ends' })],
  ['the same, outputs compared exactly', (run) => guarded(run, { stopWhen: [noProgress()] }, { compared: 'exact' })],
  ['the rule before: reminds at 5, stops at 10', byOldRule],
  ['rejected: calls without numbers, any output', (run) => guarded(run, { stopWhen: [noProgress()] }, { compared: 'nothing', input: 'masked' })],
  ['rejected: the same error 4 times', (run) => ({ isReminded: false, isRemindedOfOthers: false, isStopped: hasErrorTimes(run, 4) })],
]

/** @param {import('../load.mjs').Data} data @returns {Promise<import('../cells.mjs').Table[]>} */
export async function repetitionTables({ graded, live }) {
  const runs = withTexts([...graded, ...live])
  const rows = []
  let byShipped = []
  for (const [name, rule] of rules) {
    const judged = []
    for (const run of runs) judged.push({ run, ...(await rule(run)) })
    if (rows.length === 0) byShipped = judged
    rows.push([name, ...outcomes.map((outcome) => stopped(judged, outcome)), ...outcomes.map((outcome) => reminded(judged, outcome))])
  }
  const groups = [...byGroup(byShipped, ({ run }) => (run.outcome === null ? 'live' : `${run.agent}, ${run.model}`))]
  return [
    {
      id: 'repetition',
      title: 'Runs that repeat themselves, by rule',
      note: 'Of texts there are the beginning, the end and a digest of the whole without numbers and hexadecimal words, which stands in the output spelled in letters: outputs that differ in times or temporary paths alone are taken for different. By their ends alone, outputs count as equal that may not be.',
      head: ['rule', 'stops, solved', 'stops, live', 'stops, failed', 'reminds, solved', 'reminds, live', 'reminds, failed'],
      rows,
    },
    {
      id: 'reminders',
      title: 'Runs in which the guard reminds',
      note: 'A reminder is a message before the next request, and adds no request.',
      head: ['reminded of', 'solved', 'live', 'failed'],
      rows: [
        ['equal turns', ...outcomes.map((outcome) => reminded(byShipped, outcome))],
        ['failing edits, or equal errors', ...outcomes.map((outcome) => shareOf(ofOutcome(byShipped, outcome), ({ isRemindedOfOthers }) => isRemindedOfOthers))],
      ],
    },
    {
      id: 'repetition-sources',
      title: 'The guard, by agent and model',
      note: 'The same guard. The rows of the Terminal-Bench and SWE-bench runs of mini-swe-agent differ by their model.',
      head: ['runs', 'stops, solved', 'stops, failed', 'reminds, solved', 'reminds, failed'],
      rows: groups.filter(([name]) => name !== 'live').map(([name, some]) => [name, stopped(some, true), stopped(some, false), reminded(some, true), reminded(some, false)]),
    },
  ]
}

const outcomes = [true, null, false]
const ofOutcome = (judged, outcome) => judged.filter(({ run }) => run.outcome === outcome)
const stopped = (judged, outcome) => shareOf(ofOutcome(judged, outcome), ({ isStopped }) => isStopped)
const reminded = (judged, outcome) => shareOf(ofOutcome(judged, outcome), ({ isReminded }) => isReminded)
