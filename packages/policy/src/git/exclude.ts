import { chmod, mkdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { realPath, writeWhole } from '@halting/journal/files'
import { findRepository, isOwnRepository } from './repository.ts'
import { pathKind, readSmallFile } from './small-file.ts'

/**
 * Has git ignore a file of the person's in a repository, in every folder and work tree of it, without a change of a tracked file: by a line in
 * `info/exclude`, which belongs to this clone alone. Where there is no repository of this folder, or that file cannot be written, nothing is done: the
 * person's file counts all the same. No program is started.
 */
export async function excludeFromGit(path: string): Promise<void> {
  const found = findRepository(dirname(path))
  // What a folder merely names may be a repository of somebody else.
  if (found?.kind !== 'repository' || !isOwnRepository(found)) return
  const info = join(found.commonFolder, 'info')
  const exclude = join(info, 'exclude')
  const line = `**/${basename(dirname(path))}/${basename(path)}`
  try {
    const bytes = readSmallFile(exclude)
    // A link leads to a file that others write, or out of the repository.
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
    // It may not be written, as in a repository of another user.
  }
}
