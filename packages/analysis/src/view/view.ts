import { accountWith, type Account } from '../account/account.ts'
import { recordedSteps, type RecordedSteps } from '../account/recorded-steps.ts'
import { isCopiedRun } from '../account/copied-run.ts'
import type { GradedRun } from '../grades/graded-run.ts'
import { gradeOf } from '../grades/grade-of.ts'
import { gradedRun, ungraded } from '../grades/graded-runs.ts'
import { noOutcome, runOutcomes, type RunOutcome } from '../grades/run-outcome.ts'
import { trajectoryOf, type Trajectory } from '../what-if/trajectory.ts'
import { withoutInputs } from '../what-if/without-inputs.ts'
import type { StepRecord } from '@halting/core/steps'
import { ContextKinds } from './context-kinds.ts'
import type { InspectedSession } from './inspected-session.ts'
import { timelineOf, type UnplacedItem } from './items.ts'
import { keyedParts } from './parts.ts'
import { pointsOf } from './points.ts'
import { firstPrompt, rowWith } from './row.ts'
import type { Part } from './session-transcript.ts'
import type { ModelWindow, RunView, SessionView, TimelineItem, TurnPoint } from './types.ts'

/** A prompt is shown on one line. */
const maxPromptLength = 300

/**
 * What the page shows of a session at first; records and transcripts are loaded in pieces.
 * @throws ConfigurationError for records that are not those of runs.
 */
export function viewOf(session: InspectedSession): SessionView {
  return readView(session).view
}

/** A session for the page, with its transcripts. */
export interface ReadView {
  readonly view: SessionView
  /** Parts of the transcript, by run. */
  readonly parts: readonly (readonly Part[])[]
}

// Spec R-LIST-9.
/** Like `viewOf`, with the transcripts. Items, points and trajectories, which are most of a long session, are computed on demand. */
export function readView(session: InspectedSession): ReadView {
  const { runs, shellArguments, notes } = session
  const outcomes = runOutcomes(runs)
  const readRuns = runs.map((records, index): ReadRun => {
    const recorded = weaklyMemoized(() => recordedSteps(records))
    return { records, recorded, account: accountIn(session, records, recorded()), ...keyedParts(runs, index) }
  })
  const points = lazyPoints(readRuns)
  const views = readRuns.map(({ records, recorded, account, parts, places }, index): RunView => {
    const [first] = records
    const trajectory = memoized(() => withoutInputs(trajectoryOf(records)))
    return {
      runId: first?.type === 'start' ? first.start.run.runId : '',
      prompt: firstPrompt(records).slice(0, maxPromptLength),
      isCopy: isCopiedRun(records),
      isContinued: outcomes[index]?.isContinued === true,
      graded: gradedIn(session, index, outcomes, trajectory),
      why: session.why(index, account),
      account,
      get trajectory() {
        return trajectory()
      },
      unpriced: session.unpriced[index] ?? [],
      get items() {
        return withParts(timelineOf(records, recorded()), places, parts.length)
      },
      get points() {
        return points(index)
      },
      get windows() {
        return windowsOf(points(index), session)
      },
      records: records.length,
      parts: parts.length,
    }
  })
  const accounts = readRuns.map(({ account }) => account)
  const row = rowWith(session, accounts)
  return { view: { row, shellArguments, notes, runs: views }, parts: readRuns.map(({ parts }) => parts) }
}

/** A run, and what most of its figures are computed from. */
interface ReadRun {
  readonly records: readonly StepRecord[]
  readonly recorded: () => RecordedSteps
  readonly account: Account
  readonly parts: readonly Part[]
  readonly places: ReadonlyMap<string, number>
}

function memoized<Value>(make: () => Value): () => Value {
  let cached: { readonly value: Value } | undefined
  return () => (cached ??= { value: make() }).value
}

/** Recomputed after garbage collection. */
function weaklyMemoized<Value extends object>(make: () => Value): () => Value {
  let cached: WeakRef<Value> | undefined
  return () => {
    const known = cached?.deref()
    if (known !== undefined) return known
    const value = make()
    cached = new WeakRef(value)
    return value
  }
}

/** The points of each run. All earlier runs must be read first, because their conversation fills the window, too. */
function lazyPoints(runs: readonly ReadRun[]): (run: number) => readonly TurnPoint[] {
  const kinds = new ContextKinds()
  const computed: (readonly TurnPoint[])[] = []
  return (run) => {
    for (const { records, recorded, account } of runs.slice(computed.length, run + 1)) {
      const left = entriesLeft(runs[computed.length - 1]?.records ?? [])
      if (left !== undefined) kinds.goBackTo(left)
      computed.push(pointsOf(records, kinds, account.totals.activeMs - account.carried.activeMs, recorded()))
    }
    return computed[run] ?? []
  }
}

/** The account of a run. The limits of another program's run are not recorded, and retry limits do not apply to it. */
function accountIn({ program }: InspectedSession, records: readonly StepRecord[], recorded: RecordedSteps): Account {
  const account = accountWith(records, recorded)
  return program === 'halting' ? account : { ...account, limits: [], laps: [] }
}

function gradedIn(
  { sessionId, cwd, unpriced, grading = ungraded }: InspectedSession,
  index: number,
  outcomes: readonly RunOutcome[],
  trajectory: () => Trajectory,
): GradedRun {
  const outcome = outcomes[index] ?? noOutcome
  const run = { sessionId, cwd, outcome, unpriced: unpriced[index] ?? [] }
  const graded = memoized(() => gradedRun({ ...run, trajectory: trajectory() }, grading))
  return {
    sessionId,
    get model() {
      return graded().model
    },
    get repository() {
      return graded().repository
    },
    get use() {
      return graded().use
    },
    grade: gradeOf(outcome, grading.grades.of(sessionId, outcome.runId)?.grade),
  }
}

function windowsOf(points: readonly TurnPoint[], { windowOf }: InspectedSession): readonly ModelWindow[] {
  return [...new Set(points.map(({ model }) => model))].flatMap((model) => {
    const tokens = windowOf(model)
    return tokens === undefined ? [] : [{ model, tokens }]
  })
}

/** The number of entries that a rewind after the run left. */
function entriesLeft(records: readonly StepRecord[]): number | undefined {
  const left = records.flatMap((record) => (record.type === 'rewind' ? [record.entries] : []))
  return left.length === 0 ? undefined : Math.min(...left)
}

function withParts(
  items: readonly UnplacedItem[],
  places: ReadonlyMap<string, number>,
  parts: number,
): readonly TimelineItem[] {
  // Field by field: destructuring with a rest copy is several times slower.
  return items.map((item, id) => {
    const { kind, scope, request, startMs, endMs, label, status, tokens, costUsd, waitedMs, partKey } = item
    const { firstRecord, lastRecord } = item
    const place = partKey === undefined ? undefined : places.get(partKey)
    // The ending is shown with the last part. A reply without visible content has no part.
    const part = kind === 'ending' ? parts - 1 : Math.min(place ?? -1, parts - 1)
    const figures = { kind, scope, request, startMs, endMs, label, status, tokens, costUsd, firstRecord, lastRecord }
    const placed = { id, ...figures, part: part < 0 ? null : part }
    return waitedMs === undefined ? placed : { ...placed, waitedMs }
  })
}
