import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { messageOf } from '@halting/core/adapters'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'

/**
 * The files in a folder and below, by their names from there. A link to a folder is not followed: it may lead back here, or to where nobody asked to
 * look. A link to a file counts. A pipe or a device does not: whoever reads it may wait for ever. Folders below that cannot be read are passed over.
 * @throws UsageError for a folder that cannot be read.
 */
export async function filesBelow(folder: string): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = await entriesOf(next, next === folder)
    for (const entry of entries) {
      const path = join(next, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else if (await isFile(entry, path)) found.add(relative(folder, path))
    }
  }
  return found
}

async function entriesOf(folder: string, isAskedFor: boolean): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if (!isAskedFor) return []
    throw new UsageError(`The folder ${oneLine(folder, 200)} cannot be read: ${oneLine(messageOf(error), 200)}`)
  }
}

async function isFile(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile()
  return (await stat(path).catch(() => undefined))?.isFile() === true
}
