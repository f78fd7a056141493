import { readJournal, type ReadJournal } from '@halting/journal'
import { redactedValue } from '@halting/core/redact'
import { kindOfSession, readForeignSession } from '../foreign/read-foreign.ts'
import type { ForeignSession } from '../foreign/session.ts'
import type { ReadTogether } from '../foreign/read-together.ts'
import type { Prices } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import { freeModels } from '../account/free-models.ts'
import { isCopiedRun } from '../account/copied-run.ts'
import { foreignOutcomes, runOutcomes, type RunOutcome } from '../grades/run-outcome.ts'
import { recordsOfForeign } from '../foreign/foreign-run.ts'
import { startOfRecord, type StepRecord } from '@halting/core/steps'
import type { RunClock } from '../what-if/request-log.ts'
import { trajectoryOf } from '../what-if/trajectory.ts'
import { trajectoryOfForeign, type ForeignTrajectory } from '../what-if/foreign-trajectory.ts'
import { createKeyRedactor } from '@halting/models'

/** A session of any program, as records. */
export interface AnySession {
  /** Id of the session. */
  readonly sessionId: string
  /** Its working directory; '' if unknown. */
  readonly cwd: string
  /** The records of each run, in order. */
  readonly runs: readonly (readonly StepRecord[])[]
  /** When each run began, in milliseconds since 1970; null if unknown. */
  readonly began: readonly (number | null)[]
  /** The title that it was given when it began. */
  readonly title?: string
  /** The session as another program recorded it, without its runs' records. */
  readonly foreign?: ForeignSession
  /** Models without a price, for each run. */
  readonly unpriced: readonly (readonly string[])[]
}

/** Loads prices. Called only for a session of another program, or for models that reported no cost: other records contain their cost. */
export type PricesFor = () => Promise<Prices>

/**
 * Reads a session of any program. When several files are read `together`, copied lines count once, and intents with a result are not read. Secrets
 * are redacted first, because sessions of earlier versions and of other programs may contain keys.
 * @throws HaltingError for a file that cannot be read.
 */
export async function readAnySession(path: string, prices: PricesFor, together?: ReadTogether): Promise<AnySession> {
  const redact = createKeyRedactor(process.env)
  const kind = await kindOfSession(path)
  if (kind === undefined || kind === 'halting') {
    const intents = together === undefined ? 'all' : 'open'
    return haltingSession(await readJournal(path, { intents }), prices, (records) =>
      withCopyMark(records, path, together),
    )
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
/**
 * Reads the beginning of a Halting session, up to about `maxBytes`; undefined for a session of another program.
 * @throws HaltingError for a file that cannot be read.
 */
export async function readSessionBeginning(
  path: string,
  maxBytes: number,
  prices: PricesFor,
): Promise<AnySession | undefined> {
  const kind = await kindOfSession(path)
  return kind === 'halting' ? haltingSession(await readJournal(path, { maxBytes }), prices) : undefined
}

async function haltingSession(
  { sessionId, cwd, runs: all, began, title }: ReadJournal,
  prices: PricesFor,
  withCopy: (records: readonly StepRecord[]) => readonly StepRecord[] = (records) => records,
): Promise<AnySession> {
  const redact = createKeyRedactor(process.env)
  const texts = { cwd, ...(title !== undefined && { title }) }
  // Copies are detected before redaction, from the content of the file.
  const runs = all.map((records) => redactedValue(withCopy(records), redact))
  const unpriced = await unpricedIn(runs, prices)
  return { sessionId, ...redactedValue(texts, redact), runs, began, unpriced }
}

/** Marks a run as a copy when another file of those that are read together contains it. */
function withCopyMark(
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

/** Models without a price, for each run of a Halting session. */
export async function unpricedIn(
  runs: readonly (readonly StepRecord[])[],
  prices: PricesFor,
): Promise<readonly (readonly string[])[]> {
  const free = runs.map((records) => freeModels(records))
  if (free.every((models) => models.length === 0)) return free
  const known = await prices()
  return free.map((models) => models.filter((model) => known.cost(model, noUsage) === undefined))
}

/** What the analysis of limits needs of a session, without its messages, which may be large. */
export interface PastSession {
  /** Id of the session. */
  readonly sessionId: string
  /** Its working directory; '' if unknown. */
  readonly cwd: string
  /** Its runs, in order. */
  readonly runs: readonly PastTrajectory[]
  /** The recorded outcome of each run. */
  readonly outcomes: readonly RunOutcome[]
  /** The session as another program recorded it, without its runs. */
  readonly foreign?: ForeignSession
}

/** A run as the analysis of limits needs it. */
export interface PastTrajectory extends ForeignTrajectory {
  /** Whether it is a copy, which counts only in its original session. */
  readonly isCopy: boolean
  /** Pairs of run time and time of day; empty if none is recorded. */
  readonly clock: RunClock
}

/** The trajectory of a Halting run. The last argument says when it began and how its clock relates to the time of day, as far as recorded. */
export function pastTrajectory(
  records: readonly StepRecord[],
  unpriced: readonly string[] = [],
  {
    began,
    clock = [],
  }: {
    /** When the run began, in milliseconds since 1970; null if unknown. */
    readonly began?: number | null
    /** Pairs of run time and time of day. */
    readonly clock?: RunClock
  } = {},
): PastTrajectory {
  const { at: start } = startOfRecord(records)
  const sinceStart = clock.map(([at, moment]) => [at - start, moment] as const)
  const fromBeginning = typeof began === 'number' ? ([[0, began]] as const) : []
  return {
    trajectory: trajectoryOf(records),
    unpriced,
    isCopy: isCopiedRun(records),
    clock: sinceStart.length > 0 ? sinceStart : fromBeginning,
  }
}

/** Converts a session that was read completely. */
export function pastSessionOf({ sessionId, cwd, runs, began, unpriced }: AnySession): PastSession {
  return {
    sessionId,
    cwd,
    runs: runs.map((records, index) => pastTrajectory(records, unpriced[index], { began: began[index] ?? null })),
    outcomes: runOutcomes(runs),
  }
}

/**
 * Reads this from a session file of any program. When several files are read `together`, copied lines count once.
 * @throws HaltingError for a file that cannot be read.
 */
export async function readPastSession(path: string, prices: PricesFor, together: ReadTogether): Promise<PastSession> {
  const kind = await kindOfSession(path)
  if (kind === undefined || kind === 'halting') {
    const { sessionId, cwd, runs, began, clocks } = await readJournal(path, { intents: 'open' })
    const unpriced = await unpricedIn(runs, prices)
    const marked = runs.map((records) => withCopyMark(records, path, together))
    const timesOf = (run: number) => ({ began: began[run] ?? null, clock: clocks[run] ?? [] })
    return {
      sessionId,
      cwd,
      runs: marked.map((records, index) => pastTrajectory(records, unpriced[index], timesOf(index))),
      outcomes: runOutcomes(runs),
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
