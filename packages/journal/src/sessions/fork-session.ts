import { rm, constants, copyFile, link, lstat, readdir } from 'node:fs/promises'
import type { StepRecord } from '@halting/core/steps'
import { checkText } from '../check-input.ts'
import { readSessionHead } from '../session-ends.ts'
import { readJournal, readTimedRecords } from '../read-journal.ts'
import { checkJournalOptions, openNewJournal } from '../open-journal.ts'
import type { JournalOptions } from '../open-journal.ts'
import { discardSession } from './stored-sessions.ts'
import { folderOfSession } from './session-folder.ts'
import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '@halting/core/adapters'
import { makeDurableFolder } from '../files/durable.ts'
import type { TranscriptEntry } from '@halting/core'
import { callIdOf } from '../format/encoder.ts'

/**
 * Begins a session as a copy of another one, which stays as it is and may be written meanwhile: what stood in it whole is copied.
 * Idempotency keys begin with the new id. Large results and what files were before they were changed are the copy's own, too.
 * @throws ConfigurationError for what names no session.
 * @throws HaltingError `driver` for a damaged file, and for what the file system refuses; then there is no copy.
 */
export async function forkSession(from: string, options: JournalOptions): Promise<void> {
  checkText('The session to fork', from)
  checkJournalOptions(options, 'forkSession')
  const [source, target] = [folderOfSession(from), folderOfSession(options.path)]
  const journal = await openNewJournal({ ...options, ...titleOf(from) })
  try {
    // Before the records: whatever is known of files then was done by calls that are in the records.
    const copied = await copySessionFiles(source, target)
    const { runs } = await readJournal(from)
    const records = copied.results ? withMovedResults(runs, source, target) : runs.flat()
    // What a run without an end comes to, it comes to here: it goes on.
    const ended = new Set(runs.filter(hasEnded).map(([first]) => runIdOf(first)))
    for (const record of records) journal.log.append(withSessionId(record, options.sessionId, ended))
    await journal.log.flush()
    await journal.close()
  } catch (error) {
    await journal.close().catch(() => undefined)
    await removeFork(options.path, options.sessionId)
    throw error
  }
}

/** A copy is called as what it is a copy of. What is wrong with the file is told where all of it is read. */
function titleOf(from: string): Pick<JournalOptions, 'title'> {
  try {
    const { title } = readSessionHead(from)
    return title === undefined ? {} : { title }
  } catch {
    return {}
  }
}

/** Removes a copy that nobody has gone on with. */
export async function removeFork(path: string, sessionId: string): Promise<void> {
  await discardSession({ path, sessionId })
  await rm(folderOfSession(path), { recursive: true, force: true })
}

function hasEnded(records: readonly StepRecord[]): boolean {
  return records.some((record) => record.type === 'end' && record.scope === '')
}

/** Undefined for what begins no run, or the one of a subagent. */
function runIdOf(record: StepRecord | undefined): string | undefined {
  return record?.type === 'start' && record.scope === '' ? record.start.run.runId : undefined
}

function withSessionId(record: StepRecord, sessionId: string, ended: ReadonlySet<string | undefined>): StepRecord {
  if (record.type !== 'start') return record
  const { start } = record
  const isCopy = ended.has(runIdOf(record) ?? '')
  return { ...record, start: { ...start, run: { ...start.run, sessionId, ...(isCopy && { isCopy }) } } }
}

/** What of a session was copied beside its records. */
interface CopiedFiles {
  /** There were large results. */
  readonly results: boolean
}

/**
 * Copies what a session keeps beside its file, but for payloads, which the copy's own lines bring, and answers, which are to the session itself.
 * Files that never change once they have their name are the same file under two names where the file system can do that.
 */
export async function copySessionFiles(from: string, to: string): Promise<CopiedFiles> {
  // The log before the contents that it names: these are kept before its lines are written.
  await copyFiles(join(from, 'files'), join(to, 'files'), 'copied', (name) => name === 'changes.jsonl')
  await copyFiles(join(from, 'files', 'contents'), join(to, 'files', 'contents'), 'shared', isWhole)
  const results = await copyFiles(join(from, 'tool-results'), join(to, 'tool-results'), 'shared', isWhole)
  return { results: results > 0 }
}

/** Not a draft. */
function isWhole(name: string): boolean {
  return !name.endsWith('.part')
}

/** Gives their number. No link is followed (K2 of result-files.ts). */
async function copyFiles(
  from: string,
  to: string,
  how: 'copied' | 'shared',
  isWanted: (name: string) => boolean,
): Promise<number> {
  const files = (await filesIn(from)).filter((each) => each.isFile() && isWanted(each.name))
  if (files.length === 0) return 0
  await makeDurableFolder(to)
  for (const { name } of files) await copyOne(join(from, name), join(to, name), how)
  return files.length
}

async function filesIn(folder: string): Promise<readonly Dirent[]> {
  const state = await lstat(folder).catch(() => undefined)
  return state?.isDirectory() === true ? readdir(folder, { withFileTypes: true }) : []
}

async function copyOne(from: string, to: string, how: 'copied' | 'shared'): Promise<void> {
  try {
    if (how === 'shared') return await link(from, to)
  } catch {
    // Another file system, or one without links.
  }
  await copyFile(from, to, constants.COPYFILE_EXCL).catch((error: unknown) => {
    // It went while its folder was read: nothing that stays names it.
    if (codeOf(error) !== 'ENOENT') throw error
  })
}

// Spec R-STEP-5.
/**
 * The records of a session in which what tools said of large results names the folder of its copy. Calls and prompts stay as they were said, so what
 * a request on record was about is the same: of results it knows the ids of their calls.
 */
export function withMovedResults(
  runs: readonly (readonly StepRecord[])[],
  from: string,
  to: string,
): readonly StepRecord[] {
  const moved = replacer(join(from, 'tool-results'), join(to, 'tool-results'))
  const withMovedResult = (entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] =>
    entries.map((entry) => (isOfTools(entry) ? moved(entry) : entry))
  return runs.flat().map((record): StepRecord => {
    switch (record.type) {
      case 'start':
        return { ...record, start: { ...record.start, added: withMovedResult(record.start.added) } }
      case 'lap':
        return { ...record, lap: { ...record.lap, added: withMovedResult(record.lap.added) } }
      case 'end':
        return { ...record, added: withMovedResult(record.added) }
      case 'result':
        return isToolStep(record.key) ? { ...record, value: moved(record.value) } : record
      case 'intent':
      case 'control':
      case 'rewind':
      case 'stage':
        return record
    }
  })
}

/** A call, the keeping of what it gave, or what hooks left of it. */
function isToolStep(key: string): boolean {
  return callIdOf(key) !== undefined || /(?:^|\/)(?:save|shown):\d/.test(key)
}

/** Results, and what was made of them when they were cleared or summed up. */
function isOfTools(entry: TranscriptEntry): boolean {
  return entry.kind === 'user'
    ? entry.origin === 'tool_results'
    : entry.kind === 'results_cleared' || entry.kind === 'compact_boundary'
}

/** Puts one text in the place of another, wherever it stands in a value. What holds none is given as it is, and what is the same thing twice stays so. */
function replacer(from: string, to: string): <T>(value: T) => T {
  const done = new Map<object, unknown>()
  const move = (value: unknown): unknown => {
    if (typeof value === 'string') return value.includes(from) ? value.replaceAll(from, () => to) : value
    if (typeof value !== 'object' || value === null) return value
    const known = done.get(value)
    if (known !== undefined) return known
    const parts: readonly unknown[] = Object.values(value)
    const moved = parts.map(move)
    const isSame = moved.every((part, index) => part === parts[index])
    const result = isSame
      ? value
      : Array.isArray(value)
        ? moved
        : Object.fromEntries(Object.keys(value).map((field, index) => [field, moved[index]]))
    done.set(value, result)
    return result
  }
  // A value of the same form, with other texts in it.
  return <T>(value: T): T => move(value) as T
}

/**
 * Copies a session to another place, such as that of a store, under the same id and with its times. The original stays as it is. Large results and what files
 * were before they were changed are copied, too; answers that no run has taken are not.
 * @throws HaltingError `driver` where the place has a session of this id, for a damaged file, and for what a store or the file system refuses; then there is
 * no copy.
 */
export async function copySession(from: string, to: Pick<JournalOptions, 'path' | 'version'>): Promise<void> {
  const { sessionId, cwd, title, runs, times } = await readTimedRecords(from)
  const [createdAt] = times
  const journal = await openNewJournal({
    ...to,
    sessionId,
    cwd,
    ...(title !== undefined && { title }),
    ...(createdAt !== undefined && createdAt !== '' && { createdAt }),
  })
  try {
    const [source, target] = [folderOfSession(from), folderOfSession(to.path)]
    const { results } = await copySessionFiles(source, target)
    const records: readonly StepRecord[] = results ? withMovedResults(runs, source, target) : runs.flat()
    const now = new Date().toISOString()
    for (const [index, record] of records.entries()) journal.appendAt(record, times[index] || now)
    await journal.log.flush()
    await journal.close()
  } catch (error) {
    await journal.close().catch(() => undefined)
    await removeFork(to.path, sessionId)
    throw error
  }
}
