import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { keptSessions, readJournal, type KeptFile, type ReadJournal } from '@halting/agent'
import { HaltingError } from '@halting/core'
import type { Program } from '../program.ts'
import { whose } from '../session/whose.ts'
import { UsageError } from '../usage-error.ts'

const extension = '.jsonl'

/**
 * The file of a session: by its path, by its id or the beginning of it (of this folder before all others), or the newest of this folder.
 * @throws UsageError where there is none, or more than one.
 */
export async function findSession(given: string | undefined, program: Program): Promise<string> {
  if (given === undefined) {
    const [newest] = await keptSessions(whose(program), 'of this folder')
    if (newest === undefined)
      throw new UsageError('No session of this folder is kept. Name one, by its id or its file: halting why FILE.')
    return newest.path
  }
  const path = resolve(program.cwd, given)
  if ((await stat(path).catch(() => undefined))?.isFile() === true) return path
  if (/[/\\]|\.jsonl$/.test(given)) throw new UsageError(`There is no file ${given}.`)
  for (const which of ['of this folder', 'all'] as const) {
    const named: readonly KeptFile[] = (await keptSessions(whose(program), which)).filter(({ sessionId }) =>
      sessionId.startsWith(given),
    )
    const [first]: readonly KeptFile[] = named
    if (named.length > 1 && first !== undefined && first.sessionId !== given) {
      const ids = named.slice(0, 5).map(({ sessionId }) => sessionId)
      throw new UsageError(`${named.length} sessions begin with ${given}: ${ids.join(', ')}. Name one.`)
    }
    if (first !== undefined) return first.path
  }
  throw new UsageError(`There is no session ${given}.`)
}

/**
 * The files of all sessions that are named, where a folder stands for those in it and below; those of this folder when none is.
 * @throws UsageError for a name that is none.
 */
export async function findSessions(given: readonly string[], program: Program): Promise<readonly string[]> {
  if (given.length === 0) {
    const own = await keptSessions(whose(program), 'of this folder')
    if (own.length === 0)
      throw new UsageError('No session of this folder is kept. Name sessions, files, or a folder with such files.')
    return own.map(({ path }) => path)
  }
  const found = await Promise.all(
    given.map(async (name) => {
      const path = resolve(program.cwd, name)
      const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true
      if (!isFolder) return [await findSession(name, program)]
      const names = (await readdir(path, { recursive: true })).filter((each) => each.endsWith(extension))
      if (names.length === 0) throw new UsageError(`There is no file *${extension} in ${name}.`)
      return names.toSorted().map((each) => join(path, each))
    }),
  )
  return [...new Set(found.flat())]
}

/** @throws UsageError for a file that cannot be read, with what is wrong in it and where. */
export async function readSession(path: string): Promise<ReadJournal> {
  try {
    return await readJournal(path)
  } catch (error) {
    throw error instanceof HaltingError ? new UsageError(error.message) : error
  }
}
