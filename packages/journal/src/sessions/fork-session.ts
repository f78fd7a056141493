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
 * Creates a session as a copy of another one, which is unchanged and may be written concurrently: all complete records
 * are copied. Idempotency keys start with the new id. Large results and file checkpoints are copied, too.
 * @throws ConfigurationError for invalid options.
 * @throws HaltingError `driver` for a damaged file, and errors of the file system; then there is no copy.
 */
export async function forkSession(from: string, options: JournalOptions): Promise<void> {
  checkText('The session to fork', from)
  checkJournalOptions(options, 'forkSession')
  const [source, target] = [folderOfSession(from), folderOfSession(options.path)]
  const journal = await openNewJournal({ ...options, ...titleOf(from) })
  try {
    // Files are copied before the records, so that every file change in the copied files has its call in the records.
    const copied = await copySessionFiles(source, target)
    const { runs } = await readJournal(from)
    const records = copied.results ? withMovedResults(runs, source, target) : runs.flat()
    // An open run continues in the copy.
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

/** Returns the title of the original. Errors of the file are reported when it is read completely. */
function titleOf(from: string): Pick<JournalOptions, 'title'> {
  try {
    const { title } = readSessionHead(from)
    return title === undefined ? {} : { title }
  } catch {
    return {}
  }
}

/** Removes a copy that was never used. */
export async function removeFork(path: string, sessionId: string): Promise<void> {
  await discardSession({ path, sessionId })
  await rm(folderOfSession(path), { recursive: true, force: true })
}

function hasEnded(records: readonly StepRecord[]): boolean {
  return records.some((record) => record.type === 'end' && record.scope === '')
}

/** Returns undefined unless the record starts a run of the main loop. */
function runIdOf(record: StepRecord | undefined): string | undefined {
  return record?.type === 'start' && record.scope === '' ? record.start.run.runId : undefined
}

function withSessionId(record: StepRecord, sessionId: string, ended: ReadonlySet<string | undefined>): StepRecord {
  if (record.type !== 'start') return record
  const { start } = record
  const isCopy = ended.has(runIdOf(record) ?? '')
  return { ...record, start: { ...start, run: { ...start.run, sessionId, ...(isCopy && { isCopy }) } } }
}

/** Files of a session that were copied. */
interface CopiedFiles {
  /** Whether there were large results. */
  readonly results: boolean
}

/**
 * Copies the files in a session's folder, except payloads, which the copy's lines create, and answers, which belong to
 * the original. Immutable files are hard-linked if possible.
 */
async function copySessionFiles(from: string, to: string): Promise<CopiedFiles> {
  // The log is copied before the contents it refers to, because those are stored before its lines are written.
  await copyFiles(join(from, 'files'), join(to, 'files'), 'copied', (name) => name === 'changes.jsonl')
  await copyFiles(join(from, 'files', 'contents'), join(to, 'files', 'contents'), 'shared', isWhole)
  const results = await copyFiles(join(from, 'tool-results'), join(to, 'tool-results'), 'shared', isWhole)
  return { results: results > 0 }
}

/** Whether a file is not a draft. */
function isWhole(name: string): boolean {
  return !name.endsWith('.part')
}

/** Returns the number of copied files. No link is followed (K2 of result-files.ts). */
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
    // Another file system, or one without hard links.
  }
  await copyFile(from, to, constants.COPYFILE_EXCL).catch((error: unknown) => {
    // The file was removed during the copy, so no preserved data refers to it.
    if (codeOf(error) !== 'ENOENT') throw error
  })
}

// Spec R-STEP-5.
/**
 * Returns records in which tool results refer to the copy's folder. Calls and prompts are unchanged, so the identity of
 * recorded requests is, too: those know results only by call id.
 */
function withMovedResults(runs: readonly (readonly StepRecord[])[], from: string, to: string): readonly StepRecord[] {
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

/** Whether a step is a tool call, storing its result, or a hook's version of it. */
function isToolStep(key: string): boolean {
  return callIdOf(key) !== undefined || /(?:^|\/)(?:save|shown):\d/.test(key)
}

/** Whether an entry has tool results, or what pruning or compaction made of them. */
function isOfTools(entry: TranscriptEntry): boolean {
  return entry.kind === 'user'
    ? entry.origin === 'tool_results'
    : entry.kind === 'results_cleared' || entry.kind === 'compact_boundary'
}

/**
 * Returns a function that replaces a text everywhere in a value. Values without it are returned unchanged, and
 * identical objects remain identical.
 */
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
  // It has the same type, with other texts.
  return <T>(value: T): T => move(value) as T
}

/**
 * Copies a session to another place, such as a store, with the same id and times. The original is unchanged. Large
 * results and file checkpoints are copied, too; unused answers are not.
 * @throws HaltingError `driver` if the target has a session of this id, for a damaged file, and for errors of a store
 * or the file system; then there is no copy.
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
