import { readdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { readJournal, sessionFolder, type ReadJournal } from '@halting/agent'
import { HaltingError } from '@halting/core'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

const extension = '.jsonl'

/**
 * The file of a session: by its path, by its id or the beginning of it (of this folder before all others), or the newest of this folder.
 * @throws UsageError where there is none, or more than one.
 */
export async function findSession(given: string | undefined, program: Program): Promise<string> {
  const own = ownFolder(program)
  const base = dirname(own)
  if (given === undefined) {
    const [newest] = await sessionsIn(own)
    if (newest === undefined)
      throw new UsageError('No session of this folder is kept. Name one, by its id or its file: halting why FILE.')
    return newest
  }
  const path = resolve(program.cwd, given)
  if ((await stat(path).catch(() => undefined))?.isFile() === true) return path
  if (/[/\\]|\.jsonl$/.test(given)) throw new UsageError(`There is no file ${given}.`)
  const projects = (await namesIn(base)).map((name) => join(base, name))
  for (const folders of [[own], projects]) {
    const found = (await Promise.all(folders.map(sessionsIn))).flat()
    const named = found.filter((file) => nameOf(file).startsWith(given))
    const [first] = named
    if (named.length > 1 && first !== undefined && nameOf(first) !== given)
      throw new UsageError(
        `${named.length} sessions begin with ${given}: ${named.slice(0, 5).map(nameOf).join(', ')}. Name one.`,
      )
    if (first !== undefined) return first
  }
  throw new UsageError(`There is no session ${given}.`)
}

/**
 * The files of all sessions that are named, where a folder stands for those in it and below; those of this folder when none is.
 * @throws UsageError for a name that is none.
 */
export async function findSessions(given: readonly string[], program: Program): Promise<readonly string[]> {
  if (given.length === 0) {
    const own = await sessionsIn(ownFolder(program))
    if (own.length === 0)
      throw new UsageError('No session of this folder is kept. Name sessions, files, or a folder with such files.')
    return own
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

function ownFolder({ cwd, env }: Program): string {
  const { base, parts } = sessionFolder({ cwd, env, home: env['HOME'] ?? homedir(), sessionId: 'any' })
  return join(base, parts[0] ?? '')
}

/** Files of sessions in a folder, the newest first. */
async function sessionsIn(folder: string): Promise<readonly string[]> {
  const paths = (await namesIn(folder)).filter((name) => name.endsWith(extension)).map((name) => join(folder, name))
  const dated = await Promise.all(
    paths.map(async (path) => ({ path, at: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 })),
  )
  return dated.toSorted((a, b) => b.at - a.at).map((each) => each.path)
}

/** None where there is no such folder. */
async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => [])
}

function nameOf(file: string): string {
  return basename(file, extension)
}

/** @throws UsageError for a file that cannot be read, with what is wrong in it and where. */
export async function readSession(path: string): Promise<ReadJournal> {
  try {
    return await readJournal(path)
  } catch (error) {
    throw error instanceof HaltingError ? new UsageError(error.message) : error
  }
}
