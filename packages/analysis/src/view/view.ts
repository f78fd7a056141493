import { accountOf, type Account } from '../account/account.ts'
import { isCopiedRun } from '../account/copied-run.ts'
import type { GradedRun } from '../grades/graded-run.ts'
import { gradedRun, ungraded } from '../grades/graded-runs.ts'
import { noOutcome, outcomesOf, type RunOutcome } from '../grades/run-outcome.ts'
import { trajectoryOf, type Trajectory } from '../what-if/trajectory.ts'
import { withoutInputs } from '../what-if/without-inputs.ts'
import type { StepRecord } from '@halting/core/steps'
import { ContextKinds } from './context-kinds.ts'
import type { InspectedSession } from './inspected-session.ts'
import { timelineOf, type PlacelessItem } from './items.ts'
import { placedParts } from './parts.ts'
import { pointsOf } from './points.ts'
import { firstPrompt, rowWith } from './row.ts'
import type { ModelWindow, RunView, SessionView, TimelineItem, TurnPoint } from './types.ts'

/** A prompt is told in a line. */
const longestPrompt = 300

/** All that the page shows of a session at once; records and the transcript are asked for piece by piece. @throws ConfigurationError for what are no records of runs. */
export function viewOf(session: InspectedSession): SessionView {
  const { runs, shellArguments, notes } = session
  const accounts = runs.map((records) => accountIn(session, records))
  const kinds = new ContextKinds()
  const outcomes = outcomesOf(runs)
  const views = runs.map((records, index): RunView => {
    const [first] = records
    const left = entriesLeft(runs[index - 1] ?? [])
    if (left !== undefined) kinds.goBackTo(left)
    const { parts, places } = placedParts(runs, index)
    // One for each run.
    const account = accounts[index] ?? accountIn(session, records)
    const { totals, carried } = account
    const trajectory = withoutInputs(trajectoryOf(records))
    const points = pointsOf(records, kinds, totals.activeMs - carried.activeMs)
    return {
      runId: first?.type === 'start' ? first.start.run.runId : '',
      prompt: firstPrompt(records).slice(0, longestPrompt),
      isCopy: isCopiedRun(records),
      isContinued: outcomes[index]?.isContinued === true,
      graded: gradedIn(session, index, outcomes, trajectory),
      why: session.why(index),
      account,
      trajectory,
      unpriced: session.unpriced[index] ?? [],
      items: withPlaces(timelineOf(records), places, parts.length),
      points,
      windows: windowsOf(points, session),
      records: records.length,
      parts: parts.length,
    }
  })
  return { row: rowWith(session, accounts), shellArguments, notes, runs: views }
}

/** With which limits a run of another program ran is not on record, and allowances it had none. */
function accountIn({ program }: InspectedSession, records: readonly StepRecord[]): Account {
  const account = accountOf(records)
  return program === 'halting' ? account : { ...account, limits: [], laps: [] }
}

function gradedIn(
  { sessionId, cwd, unpriced, grading = ungraded }: InspectedSession,
  index: number,
  outcomes: readonly RunOutcome[],
  trajectory: Trajectory,
): GradedRun {
  const outcome = outcomes[index] ?? noOutcome
  const run = { sessionId, cwd, outcome, trajectory, unpriced: unpriced[index] ?? [] }
  const { trajectory: _t, unpriced: _u, ...graded } = gradedRun(run, grading)
  return graded
}

function windowsOf(points: readonly TurnPoint[], { windowOf }: InspectedSession): readonly ModelWindow[] {
  return [...new Set(points.map(({ model }) => model))].flatMap((model) => {
    const tokens = windowOf(model)
    return tokens === undefined ? [] : [{ model, tokens }]
  })
}

/** How many entries are left of the conversation where it was taken back after a run. */
function entriesLeft(records: readonly StepRecord[]): number | undefined {
  const left = records.flatMap((record) => (record.type === 'rewind' ? [record.entries] : []))
  return left.length === 0 ? undefined : Math.min(...left)
}

function withPlaces(
  items: readonly PlacelessItem[],
  places: ReadonlyMap<string, number>,
  parts: number,
): readonly TimelineItem[] {
  return items.map(({ told, ...item }, id) => {
    const place = told === undefined ? undefined : places.get(told)
    // What is told last stands before the end. A reply of which nothing is shown has no part of its own.
    const part = item.kind === 'ending' ? parts - 1 : Math.min(place ?? -1, parts - 1)
    return { id, ...item, part: part < 0 ? null : part }
  })
}
