import { lstatSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { bothEnds, isInside } from '../files/paths.ts'
import { couldFitNamed } from './names-in-common.ts'
import { holdsOtherName } from './other-names.ts'
import type { PathPattern } from './path-pattern.ts'
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
  if (folders.some((folder) => couldFitBelow(rules, folder) || holdsOtherName(rules, folder))) return true
  return isStill && !isTree && names !== undefined
    ? below.some((folder) => couldFitIn(rules, folder, names))
    : below.some((folder) => couldFitBelow(rules, folder))
}

function couldFitIn(rules: readonly PermissionRule[], folder: string, names: string): boolean {
  const ends = bothEnds(folder)
  return rules.some(({ spec }) => spec.kind === 'path' && ends.some((end) => couldName(spec.pattern, end, names)))
}

function couldName({ anchors, glob }: PathPattern, folder: string, names: string): boolean {
  return anchors.some((root) =>
    isInside(folder, root)
      ? couldFitNamed(glob, relative(root, folder).split(sep).filter(Boolean), names)
      : // The name itself may be the folder from which it counts.
        isInside(root, folder),
  )
}

function isFileItself(path: string): boolean {
  try {
    return lstatSync(path).isFile()
  } catch {
    return false
  }
}
