import { chmod, mkdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { realPath, writeWhole } from '@halting/journal/files'
import { findRepository, isOwnRepository } from './repository.ts'
import { pathKind, readSmallFile } from './small-file.ts'

/**
 * Makes git ignore a personal file in every folder and work tree of a repository, by adding a line to `info/exclude` of
 * this clone. It changes no tracked file and starts no program. It does nothing if the folder has no repository of its
 * own, or if that file cannot be written; the file of the person works either way.
 */
export async function excludeFromGit(path: string): Promise<void> {
  const found = findRepository(dirname(path))
  // A repository that the folder only points to may belong to somebody else.
  if (found?.kind !== 'repository' || !isOwnRepository(found)) return
  const info = join(found.commonFolder, 'info')
  const exclude = join(info, 'exclude')
  const line = `**/${basename(dirname(path))}/${basename(path)}`
  try {
    const bytes = readSmallFile(exclude)
    // A link may lead to a file that others write, or out of the repository.
    if (bytes === 'unreadable' || !['missing', 'folder'].includes(pathKind(info))) return
    const text = bytes === 'missing' ? '' : bytes.toString()
    const isText = bytes === 'missing' || Buffer.from(text).equals(bytes)
    if (!isText || text.split(/\r?\n/).includes(line)) return
    const mode = bytes === 'missing' ? 0o644 : (await stat(exclude)).mode & 0o777
    await mkdir(info, { recursive: true })
    if (realPath(exclude) !== join(realPath(found.commonFolder), 'info', 'exclude')) return
    await writeWhole(exclude, `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`)
    await chmod(exclude, mode)
  } catch {
    // The exclude file may be read-only, as in a repository of another user.
  }
}
