import { setImmediate as pause } from 'node:timers/promises'
import { isEndingReason, isJsonObject, messageOf } from '@halting/core/adapters'
import {
  endsOfKept,
  fileState,
  type KeptEnds,
  listedFile,
  regularFileStats,
  type SessionIndex,
  type StoredSessionFile,
} from '@halting/journal'
import { holderOf } from '@halting/journal/files'
import { createKeyRedactor } from '@halting/models'
import { writerOf } from './writer-of.ts'

/** What a person wants to know of a session that is kept. */
export interface SessionSummary extends StoredSessionFile {
  /** Where it worked; undefined for one that cannot be read. */
  readonly cwd: string | undefined
  /** What it was called when it began. */
  readonly title?: string
  /** The first that a person said. */
  readonly firstPrompt: string
  /** Runs. */
  readonly runs: number
  /** Turns of all runs. */
  readonly turns: number
  /** US dollars of all runs. */
  readonly costUsd: number
  /** How its last run ended; `open` for one that did not, `empty` without any, `unreadable` with a `problem`. */
  readonly ended: string
  /** Why it cannot be read. */
  readonly problem?: string
  /** The process that writes it now. */
  readonly heldBy?: number
}

/** So many sessions are listed without a pause: some milliseconds. */
const atOnce = 64

/** What a list shows of each session, in their order. See `summaryOf`. Files that did not change since an earlier list are not read where an index is given. */
export async function summariesOf(
  files: readonly StoredSessionFile[],
  index?: SessionIndex,
): Promise<readonly SessionSummary[]> {
  const redact = createKeyRedactor(process.env)
  const found: SessionSummary[] = []
  for (const [at, file] of files.entries()) {
    // Of most nothing has to be awaited.
    const listed = index === undefined ? undefined : listedSummary(file, redact, index)
    found.push(listed ?? (await indexedSummary(file, { redact, index })))
    if (at % atOnce === atOnce - 1) await pause()
  }
  index?.save()
  return found
}

/** Of a file that was just listed, that no process writes, and that did not change since an earlier list or ends as most do. Undefined for any other. */
function listedSummary(
  file: StoredSessionFile,
  redact: (text: string) => string,
  index: SessionIndex,
): SessionSummary | undefined {
  const seen = listedFile(file)
  if (seen === undefined || seen.isLocked || !seen.stats.isFile()) return undefined
  const known = knownSummary(index.getListed(file.path, seen, 'summary'))
  // Other keys may be in use than when it was noted.
  if (known !== undefined) return { ...file, ...redactedTexts(known, redact) }
  const ends = endsOfKept(file.path)
  if (ends === undefined) return undefined
  const facts = redactedTexts(factsOfEnds(ends), redact)
  if (isShort(facts)) index.noteListed(file.path, seen, 'summary', facts)
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
    // Other keys may be in use than when it was noted. What a process writes is no more as it was.
    if (writerOf(file.path) === undefined) return { ...file, ...redactedTexts(known, redact) }
  }
  const summary = await redactedSummary(file, redact)
  const { sessionId: _id, path: _path, project: _project, changedAt: _at, problem, heldBy, ...facts } = summary
  if (problem === undefined && heldBy === undefined && isShort(facts)) index.note(file.path, state, 'summary', facts)
  return summary
}

/** Longer texts are not kept a second time. */
const longestText = 2_000

function isShort({ firstPrompt, title = '' }: SessionFacts): boolean {
  return firstPrompt.length + title.length <= longestText
}

/** What a file says of its session. */
type SessionFacts = Omit<SessionSummary, keyof StoredSessionFile | 'problem' | 'heldBy'>

/** What an index has of a session, and nothing else that may be in its place: anybody can make a checksum. Undefined for what no list notes. */
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
 * Reads what a list shows of one session: its ends, and all of it only where these do not tell enough. A damaged file is named in its summary.
 * Sessions of earlier versions may hold keys, and lists cut the texts: the title and the first prompt are without the keys of models that this process
 * uses, and without what has the form of a secret.
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
    const ends = endsOfKept(file.path)
    const heldBy = await holderOf(`${file.path}.lock`)
    const held = heldBy === undefined ? {} : { heldBy: heldBy.pid }
    if (ends !== undefined) return { ...file, ...factsOfEnds(ends), ...held }
    const { readWhole } = await import('./whole-summary.ts')
    return { ...file, ...(await readWhole(file.path)), ...held }
  } catch (error) {
    const problem = messageOf(error)
    return { ...file, cwd: undefined, firstPrompt: '', runs: 0, turns: 0, costUsd: 0, ended: 'unreadable', problem }
  }
}

function factsOfEnds({ sums: { runs, turns, costUsd }, ...told }: KeptEnds): SessionFacts {
  return { ...told, runs, turns, costUsd }
}
