import { rm } from 'node:fs/promises'
import type { StepRecord } from '@halting/core/steps'
import { copyKept } from './fork-files.ts'
import { withMovedResults } from './fork-results.ts'
import { checkText } from '../check-input.ts'
import { headOfKept } from '../session-ends.ts'
import { readJournal } from '../read-journal.ts'
import { checkGiven, openNewJournal, type JournalOptions } from '../open-journal.ts'
import { discardSession } from './stored-sessions.ts'
import { folderOfSession } from './session-folder.ts'

/**
 * Begins a session as a copy of another one, which stays as it is and may be written meanwhile: what stood in it whole is copied.
 * Idempotency keys begin with the new id. Large results and what files were before they were changed are the copy's own, too.
 * @throws ConfigurationError for what names no session.
 * @throws HaltingError `driver` for a damaged file, and for what the file system refuses; then there is no copy.
 */
export async function forkSession(from: string, options: JournalOptions): Promise<void> {
  checkText('The session to fork', from)
  checkGiven(options, 'forkSession')
  const [source, target] = [folderOfSession(from), folderOfSession(options.path)]
  const journal = await openNewJournal({ ...options, ...titleOf(from) })
  try {
    // Before the records: whatever is known of files then was done by calls that are in the records.
    const copied = await copyKept(source, target)
    const { runs } = await readJournal(from)
    const records = copied.results ? withMovedResults(runs, source, target) : runs.flat()
    // What a run without an end comes to, it comes to here: it goes on.
    const ended = new Set(runs.filter(hasEnded).map(([first]) => runIdOf(first)))
    for (const record of records) journal.log.append(ofSession(record, options.sessionId, ended))
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
    const { title } = headOfKept(from)
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

function ofSession(record: StepRecord, sessionId: string, ended: ReadonlySet<string | undefined>): StepRecord {
  if (record.type !== 'start') return record
  const { start } = record
  const isCopy = ended.has(runIdOf(record) ?? '')
  return { ...record, start: { ...start, run: { ...start.run, sessionId, ...(isCopy && { isCopy }) } } }
}
