import type { StepRecord } from '@halting/core/steps'
import { openNewJournal, type JournalOptions } from '../open-journal.ts'
import { readTimedRecords } from '../read-journal.ts'
import { copyKept } from './fork-files.ts'
import { withMovedResults } from './fork-results.ts'
import { removeFork } from './fork-session.ts'
import { folderOfSession } from './session-folder.ts'

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
    const { results } = await copyKept(source, target)
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
