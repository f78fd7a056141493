import { readdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { sessionFolder } from '@halting/agent'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

const extension = '.jsonl'

/**
 * The file of a session: by its path, by its id or the beginning of it (of this folder before all others), or the newest of this folder.
 * @throws UsageError where there is none, or more than one.
 */
export async function findSession(given: string | undefined, { cwd, env }: Program): Promise<string> {
  const { base, parts } = sessionFolder({ cwd, env, home: env['HOME'] ?? homedir(), sessionId: 'any' })
  const own = join(base, parts[0] ?? '')
  if (given === undefined) {
    const [newest] = await sessionsIn(own)
    if (newest === undefined)
      throw new UsageError('No session of this folder is kept. Name one, by its id or its file: halting why FILE.')
    return newest
  }
  const path = resolve(cwd, given)
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
