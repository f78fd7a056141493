import { lstatSync } from 'node:fs'
import { bothEnds } from '../paths.ts'
import type { Places } from './places.ts'
import type { PermissionRule } from './rule.ts'
import { couldFitBelow } from './rule-book.ts'

/**
 * Whether a word may mean files that rules are about and that nobody has looked at: in a folder, or under a name that comes to be.
 * `isStill`: nothing in the line writes, so that what is on disk now tells what is a file, and where names of a pattern lead.
 */
export function mayMeetUnseen(
  rules: readonly PermissionRule[],
  places: Places,
  isTree: boolean,
  isStill: boolean,
): boolean {
  const { paths, below, names } = places
  const folders = isTree ? paths.filter((path) => !isStill || !isFileItself(path)) : []
  if (folders.some((folder) => couldFitBelow(rules, folder))) return true
  return isStill && !isTree && names !== undefined
    ? below.some((folder) => couldFitIn(rules, folder, names))
    : below.some((folder) => couldFitBelow(rules, folder))
}

function couldFitIn(rules: readonly PermissionRule[], folder: string, names: string): boolean {
  const ends = bothEnds(folder)
  return rules.some(({ spec }) => spec.kind === 'path' && ends.some((end) => spec.pattern.couldFitIn(end, names)))
}

function isFileItself(path: string): boolean {
  try {
    return lstatSync(path).isFile()
  } catch {
    return false
  }
}
