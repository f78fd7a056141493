import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnySession } from '@halting/analysis/sessions'
import { openNewJournal, wholeLines } from '@halting/journal'
import type { Program } from '../program.ts'
import { versionOf } from '../version.ts'

/** The records of a cluster session as the lines of a session file, so that they can be read like one. */
export async function sessionFileLines(
  { sessionId, cwd, runs }: Pick<AnySession, 'sessionId' | 'cwd' | 'runs'>,
  program: Program,
): Promise<Iterable<string>> {
  const folder = await mkdtemp(join(tmpdir(), 'halting-export-'))
  try {
    const path = join(folder, 'session.jsonl')
    const journal = await openNewJournal({ path, sessionId, cwd, version: versionOf(program) })
    for (const record of runs.flat()) journal.log.append(record)
    await journal.log.flush()
    await journal.close()
    // The lines are read from the file, except for long texts, which are in separate files.
    return [...(await wholeLines(path))]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
