import { lstatSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { allEntries } from './first-entries.ts'
import { absolutePath } from './paths.ts'
import { codeOf } from '@halting/core/adapters'

/** Maximum number of entries that are compared. In a larger folder, a look-alike cannot be proven to be the only one. */
const maxEntries = 10_000

/** Whether another name could look like this one: only these characters have look-alikes. */
export function mayHaveLookAlikes(text: string): boolean {
  return /[ '\u0080-\uFFFF]/.test(text)
}

/** A canonical form of a name, equal for names that look the same: other spaces (U+00A0, U+202F), curly apostrophes, decomposed letters. */
export function foldedName(name: string): string {
  return name
    .normalize('NFC')
    .replace(/\p{Zs}/gu, ' ')
    .replace(/[\u2018\u2019]/g, "'")
}

// Spec R-RULE-2.
/**
 * The absolute path of the file that a file tool call refers to. Models write plain spaces and composed letters where a
 * name has others. If the written name does not exist and exactly one entry of the folder looks like it, the path is
 * that entry. Tools and permissions both use this, so that the judged path is the opened one.
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

/** Paths in the same folder whose names look like this one, sorted; empty for a folder that cannot be read or is too large. */
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
    // The folder does not exist, or may not be read.
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
