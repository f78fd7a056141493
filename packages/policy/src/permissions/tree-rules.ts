import { type Dirent, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { allEntries } from '../files/first-entries.ts'
import { realPath } from '../files/paths.ts'
import type { PermissionRule } from './rule.ts'
import { couldMatchBelow, ruleForPath } from './rule-book.ts'

const maxEntries = 3000
const readAccess = { kind: 'read', toolName: 'Read' } as const
const editAccess = { kind: 'edit', toolName: 'Edit' } as const

/** Whether a folder contains, at any depth, a file that a path rule matches. Also true if there is too much to check, or a name that is not UTF-8. */
export function containsMatch(rules: readonly PermissionRule[], folder: string): boolean {
  const ofPaths = rules.filter(({ spec }) => spec.kind === 'path')
  const open = [folder]
  let left = maxEntries
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!couldMatchBelow(ofPaths, next)) continue
    const names = namesIn(next, left)
    if (names === undefined) return true
    left -= names.length
    for (const name of names) {
      const path = join(next, name)
      if (ruleForPath(ofPaths, readAccess, path) !== undefined || ruleForPath(ofPaths, editAccess, path) !== undefined)
        return true
      open.push(path)
    }
  }
  return false
}

/**
 * Whether a folder contains, at any depth, a link with such a target, directly or through further links. Also true if there is too much to check, or
 * a name that is not UTF-8.
 */
export function containsLinkTo(folder: string, isSuch: (end: string) => boolean): boolean {
  const open = [folder]
  const seen = new Set<string>()
  let left = maxEntries
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const entries = entriesIn(next, left)
    if (entries === undefined) return true
    left -= entries.length
    for (const entry of entries) {
      const path = join(next, entry.name)
      if (entry.isDirectory()) open.push(path)
      if (!entry.isSymbolicLink()) continue
      const end = realPath(path)
      if (isSuch(end)) return true
      if (!seen.has(end)) open.push(end)
      seen.add(end)
    }
  }
  return false
}

function entriesIn(folder: string, most: number): readonly Dirent[] | undefined {
  try {
    return allEntries(folder, most)
  } catch {
    // The folder is missing, or not readable for this program and therefore not for its commands.
    return []
  }
}

/** The entries of a folder. Does not follow links: their targets are judged by their own names. */
function namesIn(folder: string, most: number): readonly string[] | undefined {
  try {
    return lstatSync(folder).isDirectory() ? allEntries(folder, most)?.map(({ name }) => name) : []
  } catch {
    return []
  }
}
