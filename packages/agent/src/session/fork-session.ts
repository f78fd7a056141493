import { rm } from 'node:fs/promises'
import type { StepRecord } from '@halting/core/steps'
import { readJournal } from './read-journal.ts'
import { openJournal, type JournalOptions } from './session-journal.ts'

/**
 * Begins a session as a copy of another one, which stays as it is and may be written meanwhile: what stood in it whole is copied.
 * Idempotency keys begin with the new id.
 * @throws HaltingError `driver` for a damaged file, and for what the file system refuses; then there is no copy.
 */
export async function forkSession(from: string, options: JournalOptions): Promise<void> {
  const { runs } = await readJournal(from)
  const journal = await openJournal(options)
  try {
    for (const record of runs.flat()) journal.log.append(ofSession(record, options.sessionId))
    await journal.log.flush()
  } catch (error) {
    await rm(options.path, { force: true })
    throw error
  } finally {
    await journal.close()
  }
}

function ofSession(record: StepRecord, sessionId: string): StepRecord {
  if (record.type !== 'start') return record
  const { start } = record
  return { ...record, start: { ...start, run: { ...start.run, sessionId } } }
}
