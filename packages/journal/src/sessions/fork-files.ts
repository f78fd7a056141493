import type { Dirent } from 'node:fs'
import { constants, copyFile, link, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '@halting/core/adapters'
import { makeDurableFolder } from '../files/durable.ts'

/** What of a session was copied beside its records. */
export interface CopiedFiles {
  /** There were large results. */
  readonly results: boolean
}

/**
 * Copies what a session keeps beside its file, but for payloads, which the copy's own lines bring, and answers, which are to the session itself.
 * Files that never change once they have their name are the same file under two names where the file system can do that.
 */
export async function copyKept(from: string, to: string): Promise<CopiedFiles> {
  // The log before the contents that it names: these are kept before its lines are written.
  await copyFiles(join(from, 'files'), join(to, 'files'), 'copied', (name) => name === 'changes.jsonl')
  await copyFiles(join(from, 'files', 'contents'), join(to, 'files', 'contents'), 'shared', isWhole)
  const results = await copyFiles(join(from, 'tool-results'), join(to, 'tool-results'), 'shared', isWhole)
  return { results: results > 0 }
}

/** Not a draft. */
function isWhole(name: string): boolean {
  return !name.endsWith('.part')
}

/** Gives their number. No link is followed (K2 of result-files.ts). */
async function copyFiles(
  from: string,
  to: string,
  how: 'copied' | 'shared',
  isWanted: (name: string) => boolean,
): Promise<number> {
  const files = (await filesIn(from)).filter((each) => each.isFile() && isWanted(each.name))
  if (files.length === 0) return 0
  await makeDurableFolder(to)
  for (const { name } of files) await copyOne(join(from, name), join(to, name), how)
  return files.length
}

async function filesIn(folder: string): Promise<readonly Dirent[]> {
  const state = await lstat(folder).catch(() => undefined)
  return state?.isDirectory() === true ? readdir(folder, { withFileTypes: true }) : []
}

async function copyOne(from: string, to: string, how: 'copied' | 'shared'): Promise<void> {
  try {
    if (how === 'shared') return await link(from, to)
  } catch {
    // Another file system, or one without links.
  }
  await copyFile(from, to, constants.COPYFILE_EXCL).catch((error: unknown) => {
    // It went while its folder was read: nothing that stays names it.
    if (codeOf(error) !== 'ENOENT') throw error
  })
}
