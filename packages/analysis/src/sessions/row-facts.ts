import { readJournal, outlineOf, type RunOutline } from '@halting/journal'
import { redactedValue } from '@halting/core/redact'
import { isEndingReason, isJsonObject, noUsage } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { freeModels } from '../account/free-models.ts'
import { kindOfSession } from '../foreign/read-foreign.ts'
import { digestOfBeginning, type ReadTogether } from '../foreign/read-together.ts'
import { figuresIn, figuresWith, rowFrom, rowTextsOf, type RowParts, type RunFigures } from '../view/row.ts'
import type { Entry } from '../view/session-catalog.ts'
import type { SessionRow } from '../view/types.ts'
import type { PricesFor } from './read-session.ts'

/** What a list row shows of a Halting session, independent of other files and of prices. JSON. */
export interface RowFacts extends Omit<RowParts, 'runs'> {
  /** Id of the session. */
  readonly sessionId: string
  /** Working directory. */
  readonly cwd: string
  /** The title a person gave it; '' for none. */
  readonly title: string
  /** Its runs, in order. */
  readonly runs: readonly RunRowFacts[]
}

/** A run of it. */
interface RunRowFacts extends RunFigures {
  /** Digest that identifies copies of the run. */
  readonly beginning: string
  /** Models that reported no cost: they have no price, or a price of zero. */
  readonly free: readonly string[]
}

type Redact = (text: string) => string

/**
 * Reads these facts from a session file, without its messages if possible. Undefined for a session of another program.
 * @throws HaltingError for a file that cannot be read, and for records that are not those of runs.
 */
export async function readRowFacts(path: string, redact: Redact): Promise<RowFacts | undefined> {
  const outline = await outlineOf(path)
  if (outline !== undefined) return factsOf(outline, outline.runs.map(readFromOutline), redact)
  const kind = await kindOfSession(path)
  if (kind !== undefined && kind !== 'halting') return undefined
  const journal = await readJournal(path, { intents: 'open' })
  return factsOf(journal, journal.runs.map(readFromRecords), redact)
}

/** A run and its figures. */
interface ReadRun {
  readonly records: readonly StepRecord[]
  readonly figures: RunFigures
}

function readFromOutline({ start, results, end, calls, failedCalls }: RunOutline): ReadRun {
  const recorded = { steps: [], requests: [], calls: [], budgetWaits: [] }
  return {
    records: [start, ...results, end],
    figures: figuresWith([start, end], { recorded, calls, failedCalls }),
  }
}

function readFromRecords(records: readonly StepRecord[]): ReadRun {
  return { records, figures: figuresIn(records) }
}

function factsOf(
  { sessionId, cwd, title = '' }: Pick<RowFacts, 'sessionId' | 'cwd'> & { readonly title?: string },
  runs: readonly ReadRun[],
  redact: Redact,
): RowFacts {
  const facts = runs.map(({ records, figures }): RunRowFacts => {
    return { ...figures, beginning: digestOfBeginning(records[0]), free: freeModels(records) }
  })
  const texts = rowTextsOf(
    runs.map(({ records }) => records),
    redact,
  )
  return { sessionId, cwd: redact(cwd), title: redact(title), ...texts, runs: redactedValue(facts, redact) }
}

/** Longer texts are not stored in the index. */
const maxTextLength = 2_000

/** Whether the facts may be stored. Text is never truncated for this purpose: a truncated key might no longer be recognized and redacted. */
export function isShort({ title, prompt, cwd }: RowFacts): boolean {
  return title.length + prompt.length + cwd.length <= maxTextLength
}

/** Whether a value from the index has the form of facts. The checksum alone does not prove it, because anyone can compute one. */
export function isRowFacts(value: unknown): value is RowFacts {
  if (!isJsonObject(value)) return false
  const { ending, models, runs, ...texts } = value
  const areTexts = textsOfFacts.every((name) => typeof texts[name] === 'string')
  return (
    (ending === null || isEndingReason(ending)) &&
    areTexts &&
    areNames(models) &&
    Array.isArray(runs) &&
    runs.every(isRunFacts)
  )
}

const textsOfFacts = ['sessionId', 'cwd', 'title', 'prompt'] as const
const figuresOfRun = ['turns', 'tokens', 'costUsd', 'activeMs', 'calls', 'failedCalls'] as const

function isRunFacts(run: unknown): boolean {
  if (!isJsonObject(run) || typeof run['isCopy'] !== 'boolean' || typeof run['beginning'] !== 'string') return false
  return areNames(run['free']) && figuresOfRun.every((name) => typeof run[name] === 'number')
}

function areNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}

/** Redacts stored facts with the current keys, which may differ from those in use when they were stored. */
export function redactedFacts({ cwd, title, prompt, models, ...facts }: RowFacts, redact: Redact): RowFacts {
  return { ...facts, ...redactedValue({ cwd, title, prompt, models }, redact) }
}

/** What a row depends on in addition to its file. */
export interface RowContext {
  /** The entry of the session. */
  readonly found: Entry & {
    /** Path of the file. */
    readonly path: string
  }
  /** State of the files that are read together. */
  readonly together: ReadTogether
  /** Prices of models. */
  readonly prices: PricesFor
}

/** Builds the row. A run that another file also contains counts only in one of them. */
export async function rowOfFacts(facts: RowFacts, { found, together, prices }: RowContext): Promise<SessionRow> {
  const isFree = facts.runs.some(({ free }) => free.length > 0)
  const known = isFree ? await prices() : undefined
  const runs = facts.runs.map(({ free, beginning, ...figures }) => ({
    ...figures,
    isCopy: figures.isCopy || !together.countsBeginning(beginning, found.path),
    unpriced: free.filter((model) => known?.cost(model, noUsage) === undefined),
  }))
  const { key, path, changedAt, isLive } = found
  const { sessionId, cwd, title } = facts
  return rowFrom({ key, sessionId, program: 'halting', title, cwd, path, changedAt, isLive }, { ...facts, runs })
}
