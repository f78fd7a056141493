import { lstatSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { allEntries } from './first-entries.ts'
import { absolutePath } from './paths.ts'
import { codeOf } from '@halting/core/adapters'

/** Entries of a folder that are compared. With more of them no name is known to be the only one. */
const maxEntries = 10_000

/** Whether a name could look like another one: only these characters have counterparts that look the same. */
export function mayHaveLookAlikes(text: string): boolean {
  return /[ '\u0080-\uFFFF]/.test(text)
}

/** A name with one spelling for all that look the same: other blanks (U+00A0, U+202F), curly apostrophes, decomposed letters. */
export function foldedName(name: string): string {
  return name
    .normalize('NFC')
    .replace(/\p{Zs}/gu, ' ')
    .replace(/[\u2018\u2019]/g, "'")
}

// Spec R-RULE-2.
/**
 * The absolute form of a path in a call of a file tool. Models write a plain blank where a name has another one, and compose letters: where nothing
 * has the name that was written and exactly one entry of the folder looks the same, the path is that entry. Tools and permissions both use
 * this: what is judged is what is opened.
 */
export function resolveToolPath(path: string, from: string): string {
  const written = absolutePath(path, from)
  if (!mayHaveLookAlikes(written) || exists(written)) return written
  const segments = written.split(sep).filter(Boolean)
  let place: string = sep
  for (const [at, segment] of segments.entries()) {
    const next = join(place, segment)
    if (exists(next)) {
      place = next
      continue
    }
    const [only, ...others] = lookAlikesOf(next)
    if (only === undefined) return join(place, ...segments.slice(at))
    if (others.length > 0) return written
    place = only
  }
  return place
}

/** Paths in the same folder whose names look the same, in order; none for a folder that cannot be read or is too large. */
export function lookAlikesOf(path: string): readonly string[] {
  const name = basename(path)
  if (!mayHaveLookAlikes(name)) return []
  const folded = foldedName(name)
  return entriesOf(dirname(path))
    .filter((entry) => entry !== name && foldedName(entry) === folded)
    .toSorted()
    .map((entry) => join(dirname(path), entry))
}

function entriesOf(folder: string): readonly string[] {
  try {
    return allEntries(folder, maxEntries)?.map(({ name }) => name) ?? []
  } catch {
    // No folder, or one that may not be read.
    return []
  }
}

function exists(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch (thrown) {
    return codeOf(thrown) !== 'ENOENT' && codeOf(thrown) !== 'ENOTDIR'
  }
}
