import { statSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import type { ToolContext } from '@halting/core'
import { firstEntries, pinFolder } from '@halting/policy/files'
import { nearest } from '../nearest.ts'
import { toolsOfCaller } from './available-tools.ts'
import { nearestFolder, similarNames } from './path-texts.ts'
import { notFoundAnywhere } from './read-texts.ts'
import { inOneLine } from './display-name.ts'
import type { Workspace } from './workspace.ts'

const maxRead = 10_000
const maxShown = 3
const maxComparedNames = 2_000

/**
 * Returns sentences that help to find the intended path when a path does not exist: names that look the same, similar
 * names in its directory, or the nearest existing directory. Omits names that rules do not let the caller read.
 */
export async function nameHints(real: string, workspace: Workspace, rights: ToolContext['rights']): Promise<string> {
  const same = workspace.lookAlikesNote(real, rights)
  if (same !== '') return same
  const search = toolsOfCaller(rights)('Glob') ? notFoundAnywhere(basename(real)) : ''
  const folder = dirname(real)
  const names = await namesIn(folder)
  if (names === undefined) return folderHint(folder) + search
  const readable = (name: string): boolean => !workspace.hides(join(folder, name), rights)
  const similar = similarTo(basename(real), names).filter(readable).slice(0, maxShown)
  return similar.length === 0 ? search : similarNames(similar.map(inOneLine).join(', '))
}

/** Returns the names in a folder; undefined if it does not exist or cannot be read. */
async function namesIn(path: string): Promise<readonly string[] | undefined> {
  const folder = await pinFolder(path).catch(() => undefined)
  try {
    return folder && firstEntries(folder.pathOf('.'), maxRead).entries.map(({ name }) => name)
  } catch {
    return undefined
  } finally {
    await folder?.close()
  }
}

/**
 * Orders names: the same name with another extension first, then the nearest spellings, then longer names that contain
 * the given one.
 */
function similarTo(name: string, names: readonly string[]): readonly string[] {
  const stem = stemOf(name)
  // For a short name, nearly every other name would count as similar.
  const most = Math.floor(stem.length / 3)
  const alike = most === 0 ? [] : names.filter((each) => Math.abs(each.length - name.length) <= most)
  const near = nearest(name, alike.slice(0, maxComparedNames), most)
  return [
    ...new Set([
      ...names.filter((each) => stemOf(each) === stem),
      ...(near === undefined ? [] : [near]),
      ...names.filter((each) => stem.length > 2 && stemOf(each).includes(stem)),
    ]),
  ]
}

function stemOf(name: string): string {
  return basename(name, extname(name)).toLowerCase()
}

function folderHint(missing: string): string {
  // The folder exists and cannot be listed.
  if (isFolder(missing)) return ''
  let folder = dirname(missing)
  while (folder !== dirname(folder) && !isFolder(folder)) folder = dirname(folder)
  return nearestFolder(missing, folder)
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  } catch {
    return false
  }
}
