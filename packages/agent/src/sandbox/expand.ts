import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fitsPath, type GlobPattern, stateBelow } from '../glob-pattern.ts'
import { realPath } from '../paths.ts'
import { SandboxError } from './sandbox-error.ts'

/** A pattern of paths with the folders from which it counts, such as those of deny rules. */
export interface PlacePattern {
  readonly anchors: readonly string[]
  readonly glob: GlobPattern
  /** Paths that are named without a pattern: they count also where nothing is there. */
  readonly named?: readonly string[]
}

const mostEntries = 300_000

/**
 * What there is on disk that patterns name: of a folder that fits, the folder alone. A link that fits is given as it stands;
 * one to a folder is followed, since what lies behind it can be named through it. `folder/**` is the folder: nothing may come to be in it either.
 * @throws SandboxError when there is too much to look at: what was not looked at could not be kept shut.
 */
export function expanded(patterns: readonly PlacePattern[]): readonly string[] {
  let entriesLeft = mostEntries
  const found = new Set<string>()
  const seen = new Set<string>()
  const look = (folder: string, segments: readonly string[], glob: GlobPattern): void => {
    for (const entry of entriesOf(folder)) {
      entriesLeft -= 1
      if (entriesLeft < 0) {
        throw new SandboxError(
          `The deny rules for files have more than ${mostEntries} files to look at before a command can run in the sandbox. Write rules that name their folder, such as Read(./config/.env).`,
        )
      }
      const path = join(folder, entry.name)
      const inner = [...segments, entry.name]
      if (fitsPath(glob, inner)) found.add(path)
      else if (entry.isDirectory()) enter(path, path, inner, glob)
      else if (entry.isSymbolicLink()) enter(realPath(path), path, inner, glob)
    }
  }
  /** Every folder once for the same wants: links may lead in circles. */
  const enter = (real: string, path: string, segments: readonly string[], glob: GlobPattern): void => {
    const state = stateBelow(glob, segments)
    const key = `${state}:${real}`
    if (state === undefined || seen.has(key)) return
    seen.add(key)
    look(path, segments, glob)
  }
  for (const { anchors, glob } of patterns) {
    const own = glob.at(-1) === 'any' ? glob.slice(0, -1) : glob
    for (const anchor of anchors) {
      if (own.length === 0) found.add(anchor)
      else enter(realPath(anchor), anchor, [], own)
    }
    // Wants of one pattern say nothing about those of the next.
    seen.clear()
  }
  return [...found]
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    // What this user may not list, a command of this user may not list either.
    return []
  }
}
