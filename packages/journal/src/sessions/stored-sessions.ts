import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transcript } from '@halting/core'
import { messageOf, textOf, codeOf } from '@halting/core/adapters'
import { redactSecrets } from '@halting/core/redact'
import { countedRuns, foldRun, foldSession } from '@halting/core/steps'
import { checkObject, checkText } from '../check-input.ts'
import { holderOf } from '../files/lock.ts'
import { endsOfKept } from '../session-ends.ts'
import { readJournal } from '../read-journal.ts'
import { isOfFolder, sessionsOf, type SessionPlace } from './session-folder.ts'

/** The file of a session that is kept. */
export interface StoredSessionFile {
  readonly sessionId: string
  readonly path: string
  /** The name of the folder that stands for where it worked. */
  readonly project: string
  readonly changedAt: Date
}

/** What a person wants to know of a session that is kept. */
export interface SessionSummary extends StoredSessionFile {
  /** Where it worked; undefined for one that cannot be read. */
  readonly cwd: string | undefined
  /** What it was called when it began. */
  readonly title?: string
  /** The first that a person said. */
  readonly firstPrompt: string
  readonly runs: number
  readonly turns: number
  readonly costUsd: number
  /** How its last run ended; `open` for one that did not, `empty` without any, `unreadable` with a `problem`. */
  readonly ended: string
  readonly problem?: string
  /** The process that writes it now. */
  readonly heldBy?: number
}

const extension = '.jsonl'

/** The sessions that are kept: those of this folder, or of all; the newest first. @throws ConfigurationError for what names no place. */
export async function storedSessions(
  place: Omit<SessionPlace, 'sessionId'>,
  which: 'of this folder' | 'all',
): Promise<readonly StoredSessionFile[]> {
  checkObject('storedSessions', place, '{ cwd, home, env }')
  checkText('cwd', place.cwd)
  checkText('home', place.home)
  checkObject('env of storedSessions', place.env, 'process.env')
  const files = which === 'all' ? await allFiles(place) : await ownFiles(place)
  return files.toSorted((a, b) => b.changedAt.getTime() - a.changedAt.getTime())
}

async function allFiles(place: Omit<SessionPlace, 'sessionId'>): Promise<readonly StoredSessionFile[]> {
  const { base } = sessionsOf(place)
  const files = await Promise.all((await namesIn(base)).map((project) => filesOf(base, project)))
  return files.flat()
}

async function ownFiles(place: Omit<SessionPlace, 'sessionId'>): Promise<readonly StoredSessionFile[]> {
  const { base, own, unhashed } = sessionsOf(place)
  const files = await filesOf(base, own)
  if (unhashed === undefined) return files
  const ids = new Set(files.map(({ sessionId }) => sessionId))
  const before = await filesOf(base, unhashed)
  return [...files, ...before.filter(({ sessionId, path }) => !ids.has(sessionId) && isOfFolder(path, place.cwd))]
}

async function filesOf(base: string, project: string): Promise<readonly StoredSessionFile[]> {
  // Without an id the folder of a session would be the one that all are in.
  const names = (await namesIn(join(base, project))).filter((name) => name.endsWith(extension) && name !== extension)
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(base, project, name)
      // Another process may have removed it since.
      const stats = await stat(path).catch(() => undefined)
      // Whoever opens a pipe waits for who writes it.
      return stats === undefined || stats.isFIFO()
        ? []
        : [{ sessionId: name.slice(0, -extension.length), path, project, changedAt: stats.mtime }]
    }),
  )
  return found.flat()
}

/** None where there is no such folder, or a file in its place. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
    throw error
  }
}

/** So many files are open at once: there may be more sessions than a process may have files. */
const atOnce = 32

/** What a list shows of each session, in their order. `redact`: see `summaryOf`. */
export async function summariesOf(
  files: readonly StoredSessionFile[],
  redact: (text: string) => string = redactSecrets,
): Promise<readonly SessionSummary[]> {
  const found: SessionSummary[] = []
  for (let index = 0; index < files.length; index += atOnce)
    found.push(...(await Promise.all(files.slice(index, index + atOnce).map((file) => summaryOf(file, redact)))))
  return found
}

/**
 * Reads what is needed of one: its ends, and all of it only where these do not tell enough. A damaged file is named in its summary. The title and the
 * first prompt go through `redact`: a session of an earlier version may hold keys, and lists cut the texts. It is `redactSecrets` of
 * `@halting/core/redact` by default; `createKeyRedactor(process.env)` of `@halting/models` takes out the keys that this process uses.
 */
export async function summaryOf(
  file: StoredSessionFile,
  redact: (text: string) => string = redactSecrets,
): Promise<SessionSummary> {
  const summary = await readSummary(file)
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
    const { recordedProgress } = await import('./recorded-progress.ts')
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

/** Removes a session and what it keeps beside its file. @throws Error for one that a process writes. */
export async function deleteSession({ path, sessionId }: StoredSessionFile): Promise<void> {
  const holder = await holderOf(`${path}.lock`)
  if (holder !== undefined)
    throw new Error(`The session ${sessionId} is written by process ${holder.pid} on ${holder.host}. End it first.`)
  await rm(path)
  await rm(path.slice(0, -extension.length), { recursive: true, force: true })
  await rm(`${path}.lock`, { force: true })
}
