import { lstatSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { bothEnds, isInside } from '../files/paths.ts'
import { containsAlias } from './path-aliases.ts'
import type { PathPattern } from './path-pattern.ts'
import type { Places } from './places.ts'
import type { PermissionRule } from './rule.ts'
import { couldMatchBelow } from './rule-book.ts'
import { type GlobPattern, reachedPositions, tokenMatches, type Token } from '../files/glob-pattern.ts'

/**
 * Whether a word may name files of rules that were not checked: inside a folder, or under a name that does not exist
 * yet. `isStill`: the line writes nothing, so that the present files on disk decide.
 */
export function mayNameFileOfRules(
  rules: readonly PermissionRule[],
  places: Places,
  isTree: boolean,
  isStill: boolean,
): boolean {
  const { paths, below, names } = places
  const folders = isTree ? paths.filter((path) => !isStill || !isFileItself(path)) : []
  if (folders.some((folder) => couldMatchBelow(rules, folder) || containsAlias(rules, folder))) return true
  return isStill && !isTree && names !== undefined
    ? below.some((folder) => couldMatchIn(rules, folder, names))
    : below.some((folder) => couldMatchBelow(rules, folder))
}

function couldMatchIn(rules: readonly PermissionRule[], folder: string, names: string): boolean {
  const ends = bothEnds(folder)
  return rules.some(({ spec }) => spec.kind === 'path' && ends.some((end) => couldName(spec.pattern, end, names)))
}

function couldName({ anchors, glob }: PathPattern, folder: string, names: string): boolean {
  return anchors.some((root) =>
    isInside(folder, root)
      ? couldMatchNamed(glob, relative(root, folder).split(sep).filter(Boolean), names)
      : // The name itself may be the base folder of the pattern.
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

/**
 * Whether the pattern may match something in a folder whose name matches a shell pattern (with classes written as `?`). A shell pattern with a
 * leading asterisk matches no hidden name. Ignores case, as some file systems do.
 */
function couldMatchNamed(pattern: GlobPattern, folder: readonly string[], shellPattern: string): boolean {
  const { reached, isFolderAbove } = reachedPositions(pattern, folder)
  if (isFolderAbove || reached.has(pattern.length)) return true
  const last = pattern.at(-1)
  if (last === undefined || !reached.has(pattern.length - 1)) return false
  return last === 'any' || patternsIntersect(last, shellTokens(shellPattern))
}

function shellTokens(pattern: string): readonly ('star' | 'one' | { readonly is: string })[] {
  const parts = pattern.match(/\\.|[^]/gu) ?? []
  return parts.map((part) =>
    part === '*' ? 'star' : part === '?' ? 'one' : { is: part.length > 1 ? part.slice(1) : part },
  )
}

function patternsIntersect(rule: readonly Token[], shell: ReturnType<typeof shellTokens>): boolean {
  const known = new Map<number, boolean>()
  const from = (at: number, shellAt: number): boolean => {
    const key = at * (shell.length + 1) + shellAt
    const before = known.get(key)
    if (before !== undefined) return before
    const fits = matchFrom(at, shellAt)
    known.set(key, fits)
    return fits
  }
  const matchFrom = (at: number, shellAt: number): boolean => {
    const [token, other] = [rule[at], shell[shellAt]]
    if (token === undefined && other === undefined) return true
    if (token === 'star') return from(at + 1, shellAt) || (other !== undefined && from(at, shellAt + 1))
    if (other === 'star') {
      const isHidden = at === 0 && shellAt === 0 && typeof token === 'object' && token.is === '.'
      return from(at, shellAt + 1) || (token !== undefined && !isHidden && from(at + 1, shellAt))
    }
    if (token === undefined || other === undefined) return false
    const isSame =
      other === 'one' ||
      [other.is, other.is.toLowerCase(), other.is.toUpperCase()].some((character) => tokenMatches(token, character))
    return isSame && from(at + 1, shellAt + 1)
  }
  return from(0, 0)
}
