import { join } from 'node:path'
import { readOnlyInSandbox } from '../obeyed-places.ts'
import { isThere } from './on-disk.ts'

/** What is obeyed later and stands at the root of a directory of the session. */
export function obeyedPlaces(directories: readonly string[]): readonly string[] {
  return directories.flatMap((root) => readOnlyInSandbox.map((name) => join(root, name)).filter(isThere))
}

/** The git folders at the roots of the directories of the session. */
export function gitFoldersOf(directories: readonly string[]): readonly string[] {
  return directories.map((root) => join(root, '.git')).filter(isThere)
}
