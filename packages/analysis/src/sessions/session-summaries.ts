import type { Transcript } from '@halting/core'
import { isEndingReason, isJsonObject, messageOf, textOf } from '@halting/core/adapters'
import { countedRuns, foldRun, foldSession } from '@halting/core/steps'
import {
  endsOfKept,
  fileState,
  readJournal,
  regularFileStats,
  type SessionIndex,
  type StoredSessionFile,
} from '@halting/journal'
import { holderOf } from '@halting/journal/files'
import { createKeyRedactor } from '@halting/models'
import { recordedProgress } from '../account/recorded-progress.ts'

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

/** So many files are open at once: there may be more sessions than a process may have files. */
const atOnce = 32

/** What a list shows of each session, in their order. See `summaryOf`. Files that did not change since an earlier list are not read where an index is given. */
export async function summariesOf(
  files: readonly StoredSessionFile[],
  index?: SessionIndex,
): Promise<readonly SessionSummary[]> {
  const redact = createKeyRedactor(process.env)
  const found: SessionSummary[] = []
  for (let at = 0; at < files.length; at += atOnce)
    found.push(
      ...(await Promise.all(files.slice(at, at + atOnce).map((file) => indexedSummary(file, { redact, index })))),
    )
  index?.save()
  return found
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
    const heldBy = await holderOf(`${file.path}.lock`).catch(() => undefined)
    // Other keys may be in use than when it was noted. What a process writes is no more as it was.
    if (heldBy === undefined) return { ...file, ...redactedTexts(known, redact) }
  }
  const summary = await redactedSummary(file, redact)
  const { sessionId: _id, path: _path, project: _project, changedAt: _at, problem, heldBy, ...facts } = summary
  const length = facts.firstPrompt.length + (facts.title ?? '').length
  if (problem === undefined && heldBy === undefined && length <= longestText)
    index.note(file.path, state, 'summary', facts)
  return summary
}

/** Longer texts are not kept a second time. */
const longestText = 2_000

type KnownSummary = Omit<SessionSummary, keyof StoredSessionFile | 'problem' | 'heldBy'>

/** What an index has of a session, and nothing else that may be in its place: anybody can make a checksum. Undefined for what no list notes. */
function knownSummary(value: unknown): KnownSummary | undefined {
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

function redactedTexts<Summary extends KnownSummary>(summary: Summary, redact: (text: string) => string): Summary {
  const { title, firstPrompt } = summary
  return { ...summary, ...(title !== undefined && { title: redact(title) }), firstPrompt: redact(firstPrompt) }
}

async function readSummary(file: StoredSessionFile): Promise<SessionSummary> {
  try {
    const ends = endsOfKept(file.path)
    const heldBy = await holderOf(`${file.path}.lock`)
    const held = heldBy === undefined ? {} : { heldBy: heldBy.pid }
    if (ends === undefined) return { ...file, ...(await readWhole(file.path)), ...held }
    const { sums, ...told } = ends
    return { ...file, ...told, runs: sums.runs, turns: sums.turns, costUsd: sums.costUsd, ...held }
  } catch (error) {
    const problem = messageOf(error)
    return { ...file, cwd: undefined, firstPrompt: '', runs: 0, turns: 0, costUsd: 0, ended: 'unreadable', problem }
  }
}

async function readWhole(path: string): Promise<Omit<SessionSummary, keyof StoredSessionFile | 'problem' | 'heldBy'>> {
  const { runs, cwd, title } = await readJournal(path)
  const folded = foldSession(runs)
  const counted = countedRuns(folded)
  let turns = counted.reduce((sum, { spent }) => sum + spent.turns, 0)
  const ofStages = (folded.stages ?? []).reduce((sum, { ended }) => sum + (ended?.costUsd ?? 0), 0)
  let costUsd = counted.reduce((sum, { terminal }) => sum + terminal.costUsd, ofStages)
  let { transcript } = folded
  if (folded.open !== undefined) {
    const open = foldRun(folded.open, transcript)
    if (open.kind === 'open') transcript = open.state.transcript
    const { totals } = recordedProgress(folded.open)
    turns += totals.turns
    costUsd += totals.costUsd
  }
  const last = folded.ended.at(-1)?.terminal.reason ?? 'empty'
  const ended = folded.open === undefined ? last : 'open'
  const named = title === undefined ? {} : { title }
  return { cwd, ...named, firstPrompt: firstPromptOf(transcript), runs: runs.length, turns, costUsd, ended }
}

function firstPromptOf(transcript: Transcript): string {
  for (const entry of transcript)
    if (entry.kind === 'user' && entry.origin === 'prompt') return textOf(entry.message.content)
  return ''
}
