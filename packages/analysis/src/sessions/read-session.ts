import { readJournal, type ReadJournal } from '@halting/journal'
import { redactedValue } from '@halting/core/redact'
import { kindOfSession, readForeignSession } from '../foreign/read-foreign.ts'
import type { ForeignSession } from '../foreign/session.ts'
import type { ReadTogether } from '../foreign/read-together.ts'
import type { Prices } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import { freeModels } from '../account/free-models.ts'
import { isCopiedRun } from '../account/copied-run.ts'
import { foreignOutcomes, outcomesOf, type RunOutcome } from '../grades/run-outcome.ts'
import { recordsOfForeign } from '../foreign/foreign-run.ts'
import { beginningOf, type StepRecord } from '@halting/core/steps'
import type { RunClock } from '../what-if/request-log.ts'
import { trajectoryOf } from '../what-if/trajectory.ts'
import { trajectoryOfForeign, type ForeignTrajectory } from '../what-if/foreign-trajectory.ts'
import { createKeyRedactor } from '@halting/models'

/** A session of this program or of another one, as records. */
export interface AnySession {
  /** Id of the session. */
  readonly sessionId: string
  /** Where it worked; '' where that is not told. */
  readonly cwd: string
  /** The records of each run, in order. */
  readonly runs: readonly (readonly StepRecord[])[]
  /** When each of them began, in milliseconds since 1970; null where that is not told. */
  readonly began: readonly (number | null)[]
  /** What it was called when it began. */
  readonly title?: string
  /** What is known of one that another program recorded. */
  readonly foreign?: ForeignSession
  /** For each run the models without a price. */
  readonly unpriced: readonly (readonly string[])[]
}

/** Prices are asked for only once a session of another program is there, or one of ours with a model that cost nothing: the others have their own. */
export type PricesFor = () => Promise<Prices>

/**
 * Reads one, whoever recorded it. Of copied lines those that are read together give one; of what was begun and came to its end only the end is read
 * then. Sessions of earlier versions and of other programs may hold keys of this one: they are redacted before anything is cut or shown.
 * @throws HaltingError for a file that cannot be read.
 */
export async function readAnySession(path: string, prices: PricesFor, together?: ReadTogether): Promise<AnySession> {
  const redact = createKeyRedactor(process.env)
  const kind = await kindOfSession(path)
  if (kind === undefined || kind === 'halting') {
    const intents = together === undefined ? 'all' : 'open'
    return ourSession(await readJournal(path, { intents }), prices, (records) => withCopyTold(records, path, together))
  }
  const foreign = { ...redactedValue(await readForeignSession(path, 'all', together), redact), path }
  const known = await prices()
  const runs = foreign.runs.map((run) => recordsOfForeign(run, known))
  return {
    sessionId: foreign.sessionId,
    cwd: foreign.cwd ?? '',
    runs: runs.map(({ records }) => records),
    began: foreign.runs.map(({ beganAt = null }) => beganAt),
    foreign,
    unpriced: runs.map(({ unpriced }) => unpriced),
  }
}

// Spec R-LIST-9a.
/** What a session of ours begins with, in about so many bytes; undefined for one of another program. @throws HaltingError for a file that cannot be read. */
export async function readSessionBeginning(
  path: string,
  mostBytes: number,
  prices: PricesFor,
): Promise<AnySession | undefined> {
  const kind = await kindOfSession(path)
  return kind === 'halting' ? ourSession(await readJournal(path, { mostBytes }), prices) : undefined
}

async function ourSession(
  { sessionId, cwd, runs: all, began, title }: ReadJournal,
  prices: PricesFor,
  withCopy: (records: readonly StepRecord[]) => readonly StepRecord[] = (records) => records,
): Promise<AnySession> {
  const redact = createKeyRedactor(process.env)
  const told = { cwd, ...(title !== undefined && { title }) }
  // Which run is a copy is known by what the file holds.
  const runs = all.map((records) => redactedValue(withCopy(records), redact))
  const unpriced = await unpricedIn(runs, prices)
  return { sessionId, ...redactedValue(told, redact), runs, began, unpriced }
}

/** A run that stands in another of the files that are read together counts there: somebody copied the file. */
function withCopyTold(
  records: readonly StepRecord[],
  path: string,
  together: ReadTogether | undefined,
): readonly StepRecord[] {
  const [first, ...rest] = records
  if (together === undefined || first?.type !== 'start' || isCopiedRun(records) || together.countsRun(first, path))
    return records
  const { start } = first
  return [{ ...first, start: { ...start, run: { ...start.run, isCopy: true } } }, ...rest]
}

/** Models without a price, for each run of a session of ours. */
export async function unpricedIn(
  runs: readonly (readonly StepRecord[])[],
  prices: PricesFor,
): Promise<readonly (readonly string[])[]> {
  const free = runs.map((records) => freeModels(records))
  if (free.every((models) => models.length === 0)) return free
  const known = await prices()
  return free.map((models) => models.filter((model) => known.cost(model, noUsage) === undefined))
}

/** What limits see of a session. Its messages are of no use for that, and may be many. */
export interface PastSession {
  /** Id of the session. */
  readonly sessionId: string
  /** Where it worked; '' where that is not known. */
  readonly cwd: string
  /** Its runs, in order. */
  readonly runs: readonly PastTrajectory[]
  /** How each of them came out, as far as it is on record. */
  readonly outcomes: readonly RunOutcome[]
  /** What is known of one that another program recorded. */
  readonly foreign?: ForeignSession
}

/** A run as limits see it. */
export interface PastTrajectory extends ForeignTrajectory {
  /** It counts in the session in which it was made. */
  readonly isCopy: boolean
  /** Where its clock stood at which time of the day; empty where no time is on record. */
  readonly clock: RunClock
}

/** This of a run of ours. `times`: when it began, and where its clock stood then, as far as its file says. */
export function pastTrajectory(
  records: readonly StepRecord[],
  unpriced: readonly string[] = [],
  {
    began,
    clock = [],
  }: {
    /** When the run began, in milliseconds since 1970; null where that is not known. */
    readonly began?: number | null
    /** How its clock ran against the time of day. */
    readonly clock?: RunClock
  } = {},
): PastTrajectory {
  const { at: start } = beginningOf(records)
  const sinceStart = clock.map(([at, moment]) => [at - start, moment] as const)
  const fromBeginning = typeof began === 'number' ? ([[0, began]] as const) : []
  return {
    trajectory: trajectoryOf(records),
    unpriced,
    isCopy: isCopiedRun(records),
    clock: sinceStart.length > 0 ? sinceStart : fromBeginning,
  }
}

/** This of a session that was read. */
export function pastSessionOf({ sessionId, cwd, runs, began, unpriced }: AnySession): PastSession {
  return {
    sessionId,
    cwd,
    runs: runs.map((records, index) => pastTrajectory(records, unpriced[index], { began: began[index] ?? null })),
    outcomes: outcomesOf(runs),
  }
}

/** Reads this of one, whoever recorded it. Of copied lines those that are read together give one. @throws HaltingError for a file that cannot be read. */
export async function readPastSession(path: string, prices: PricesFor, together: ReadTogether): Promise<PastSession> {
  const kind = await kindOfSession(path)
  if (kind === undefined || kind === 'halting') {
    const { sessionId, cwd, runs, began, clocks } = await readJournal(path, { intents: 'open' })
    const unpriced = await unpricedIn(runs, prices)
    const told = runs.map((records) => withCopyTold(records, path, together))
    const timesOf = (run: number) => ({ began: began[run] ?? null, clock: clocks[run] ?? [] })
    return {
      sessionId,
      cwd,
      runs: told.map((records, index) => pastTrajectory(records, unpriced[index], timesOf(index))),
      outcomes: outcomesOf(runs),
    }
  }
  const { runs, ...foreign } = await readForeignSession(path, 'all', together)
  const known = await prices()
  return {
    sessionId: foreign.sessionId,
    cwd: foreign.cwd ?? '',
    outcomes: foreignOutcomes(runs),
    runs: runs.map((run) => ({
      ...trajectoryOfForeign(run, known),
      isCopy: run.run.isCopy === true,
      clock: run.beganAt === undefined || run.beganAt === null ? [] : [[0, run.beganAt]],
    })),
    foreign: { ...foreign, runs: [] },
  }
}
