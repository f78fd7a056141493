import { setImmediate as pause } from 'node:timers/promises'
import { isEndingReason, isJsonObject, messageOf } from '@halting/core/adapters'
import {
  readSessionEnds,
  fileState,
  type SessionEnds,
  listedFile,
  regularFileStats,
  type SessionIndex,
  type StoredSessionFile,
} from '@halting/journal'
import { holderOf } from '@halting/journal/files'
import { createKeyRedactor } from '@halting/models'
import { writerOf } from './writer-of.ts'

/** What a list shows of a stored session. */
export interface SessionSummary extends StoredSessionFile {
  /** Its working directory; undefined for a session that cannot be read. */
  readonly cwd: string | undefined
  /** The title that it was given when it began. */
  readonly title?: string
  /** Its first prompt. */
  readonly firstPrompt: string
  /** Runs. */
  readonly runs: number
  /** Turns of all runs. */
  readonly turns: number
  /** US dollars of all runs. */
  readonly costUsd: number
  /** How its last run ended; `open` if that run has not ended, `empty` without any run, `unreadable` with a `problem`. */
  readonly ended: string
  /** Why it cannot be read. */
  readonly problem?: string
  /** The process that is writing to it. */
  readonly heldBy?: number
}

/** The number of sessions that are listed without a pause; takes a few milliseconds. */
const filesPerBatch = 64

/** Summaries of these files, in order (see `summaryOf`). With an index, files that did not change since an earlier list are not read. */
export async function summariesOf(
  files: readonly StoredSessionFile[],
  index?: SessionIndex,
): Promise<readonly SessionSummary[]> {
  const redact = createKeyRedactor(process.env)
  const found: SessionSummary[] = []
  for (const [at, file] of files.entries()) {
    // Most files need no await.
    const listed = index === undefined ? undefined : listedSummary(file, redact, index)
    found.push(listed ?? (await indexedSummary(file, { redact, index })))
    if (at % filesPerBatch === filesPerBatch - 1) await pause()
  }
  index?.save()
  return found
}

/** The summary of a file that was just listed and has no writer: from the index, or from the end of the file. Undefined if neither is enough. */
function listedSummary(
  file: StoredSessionFile,
  redact: (text: string) => string,
  index: SessionIndex,
): SessionSummary | undefined {
  const listed = listedFile(file)
  if (listed === undefined || listed.isLocked || !listed.stats.isFile()) return undefined
  const known = knownSummary(index.getListed(file.path, listed, 'summary'))
  // The API keys in use may have changed since the summary was stored.
  if (known !== undefined) return { ...file, ...redactedTexts(known, redact) }
  const ends = readSessionEnds(file.path)
  if (ends === undefined) return undefined
  const facts = redactedTexts(factsOfEnds(ends), redact)
  if (isShort(facts)) index.noteListed(file.path, listed, 'summary', facts)
  return { ...file, ...facts }
}

async function indexedSummary(
  file: StoredSessionFile,
  { redact, index }: { readonly redact: (text: string) => string; readonly index: SessionIndex | undefined },
): Promise<SessionSummary> {
  const stats = index === undefined ? undefined : regularFileStats(file.path)
  if (index === undefined || stats === undefined) return redactedSummary(file, redact)
  const state = fileState(stats)
  const known = knownSummary(index.get(file.path, state, 'summary'))
  if (known !== undefined) {
    // The API keys in use may have changed since the summary was stored. A file with a writer may have changed.
    if (writerOf(file.path) === undefined) return { ...file, ...redactedTexts(known, redact) }
  }
  const summary = await redactedSummary(file, redact)
  const { sessionId: _id, path: _path, project: _project, changedAt: _at, problem, heldBy, ...facts } = summary
  if (problem === undefined && heldBy === undefined && isShort(facts)) index.note(file.path, state, 'summary', facts)
  return summary
}

/** Longer texts are not stored in the index. */
const maxTextLength = 2_000

function isShort({ firstPrompt, title = '' }: SessionFacts): boolean {
  return firstPrompt.length + title.length <= maxTextLength
}

/** What a summary contains of the session itself. */
type SessionFacts = Omit<SessionSummary, keyof StoredSessionFile | 'problem' | 'heldBy'>

/** A stored summary, checked field by field, because anyone can compute the checksum. Undefined for anything else. */
function knownSummary(value: unknown): SessionFacts | undefined {
  if (!isJsonObject(value)) return undefined
  const { cwd, title, firstPrompt, runs, turns, costUsd, ended } = value
  if (!isTextOrNone(cwd) || !isTextOrNone(title) || typeof firstPrompt !== 'string' || !isEnded(ended)) return undefined
  if (!isFigure(runs) || !isFigure(turns) || !isFigure(costUsd)) return undefined
  return { cwd, ...(title !== undefined && { title }), firstPrompt, runs, turns, costUsd, ended }
}

function isTextOrNone(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string'
}

function isFigure(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

function isEnded(value: unknown): value is string {
  return isEndingReason(value) || value === 'open' || value === 'empty'
}

/**
 * Reads the summary of one session: from the ends of its file, or from the whole file if these are not enough. A damaged file is reported in its
 * summary. The title and the first prompt are redacted: sessions of earlier versions may contain keys of models or other secrets.
 */
export function summaryOf(file: StoredSessionFile): Promise<SessionSummary> {
  return redactedSummary(file, createKeyRedactor(process.env))
}

async function redactedSummary(file: StoredSessionFile, redact: (text: string) => string): Promise<SessionSummary> {
  return redactedTexts(await readSummary(file), redact)
}

function redactedTexts<Summary extends SessionFacts>(summary: Summary, redact: (text: string) => string): Summary {
  const { title, firstPrompt } = summary
  return { ...summary, ...(title !== undefined && { title: redact(title) }), firstPrompt: redact(firstPrompt) }
}

async function readSummary(file: StoredSessionFile): Promise<SessionSummary> {
  try {
    const ends = readSessionEnds(file.path)
    const lockedBy = await holderOf(`${file.path}.lock`)
    const writer = lockedBy === undefined ? {} : { heldBy: lockedBy.pid }
    if (ends !== undefined) return { ...file, ...factsOfEnds(ends), ...writer }
    const { readWholeSummary } = await import('./whole-summary.ts')
    return { ...file, ...(await readWholeSummary(file.path)), ...writer }
  } catch (error) {
    const problem = messageOf(error)
    return { ...file, cwd: undefined, firstPrompt: '', runs: 0, turns: 0, costUsd: 0, ended: 'unreadable', problem }
  }
}

function factsOfEnds({ sums: { runs, turns, costUsd }, ...facts }: SessionEnds): SessionFacts {
  return { ...facts, runs, turns, costUsd }
}
