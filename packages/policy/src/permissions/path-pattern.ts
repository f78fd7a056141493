import { join, relative, sep } from 'node:path'
import {
  couldMatchBelow,
  matchesPathOrAbove,
  matchesAndSpells,
  type GlobPattern,
  globPattern,
} from '../files/glob-pattern.ts'
import { bothEnds, homeFolder, isInside } from '../files/paths.ts'
import { foldedName, mayHaveLookAlikes } from '../files/look-alikes.ts'

/** A gitignore pattern with its base folder. */
export interface PathPattern {
  /** As it was written. */
  readonly source: string
  /** The base folder and its real path. */
  readonly anchors: readonly string[]
  /** The pattern for the path below the base folder, or for a folder above that path. */
  readonly glob: GlobPattern
  /** The pattern in the canonical form of look-alike names; absent if no other name looks like one of the written names. */
  readonly foldedGlob?: GlobPattern
  /** The path that it names, if it has no wildcard. */
  readonly named: readonly string[]
  /** The folders and files that the pattern matches completely. */
  readonly stems: readonly string[]
  /** Whether the pattern matches a path. */
  matches(path: string): boolean
  /** Whether it matches and spells out these names of the path, by index from the root. */
  spells(path: string, names: ReadonlySet<number>): boolean
  /** Whether it may match something inside a folder. */
  couldMatchBelow(folder: string): boolean
}

/** Base folders of patterns. */
export interface PatternRoots {
  /** Base of `./` and bare patterns. */
  readonly cwd: string
  /** Base of `/`: the project of the settings file with the rule. */
  readonly projectDirectory: string
}

/**
 * Parses `//absolute`, `~/home`, `/in the project`, `./in cwd` and bare patterns. A pattern that matches a folder matches everything below it. A
 * bare name without a slash matches at any depth; with a prefix (`/name`, `./name`) it matches only there. Returns the problem of an invalid
 * pattern.
 */
export function pathPattern(
  spec: string,
  roots: PatternRoots,
):
  | PathPattern
  | {
      /** What is wrong with the pattern, in a sentence. */
      readonly problem: string
    } {
  if (spec.startsWith('!')) return { problem: 'a pattern cannot be negated; write a rule of the other kind' }
  const { anchor, pattern, isAnchored } = anchored(spec, roots)
  const segments = pattern.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..')) return { problem: '".." is not a pattern; use //absolute or ~/' }
  if (segments.length === 0 && (spec === '/' || !(isAnchored || spec.startsWith('.'))))
    return { problem: 'the path is missing' }
  // Only a bare name matches at any depth. `/name` is one file, even if the project is the working directory.
  const isBareName = !isAnchored && !/\/./.test(pattern)
  const below = isBareName ? `**/${pattern}` : pattern
  const glob = globPattern(below)
  const anchors = bothEnds(anchor)
  return {
    source: spec,
    anchors,
    glob,
    ...(mayHaveLookAlikes(spec) && { foldedGlob: globPattern(foldedName(below)) }),
    stems: isBareName ? [] : wholeStems(anchors, segments),
    named: isBareName || /[*?[\\]/.test(pattern) ? [] : anchors.map((root) => join(root, pattern)),
    matches: (path) =>
      anchors.some(
        (root) => isInside(path, root) && matchesPathOrAbove(glob, relative(root, path).split(sep).filter(Boolean)),
      ),
    spells: (path, names) =>
      anchors.some((root) => {
        const depth = root.split('/').filter(Boolean).length
        const below = new Set([...names].map((at) => at - depth))
        // The pattern does not spell out the names of its base folder.
        const isBelow = [...below].every((at) => at >= 0)
        return (
          isBelow &&
          isInside(path, root) &&
          matchesAndSpells(glob, relative(root, path).split(sep).filter(Boolean), below)
        )
      }),
    couldMatchBelow: (folder) =>
      anchors.some(
        (root) =>
          isInside(root, folder) ||
          (isInside(folder, root) && couldMatchBelow(glob, relative(root, folder).split(sep).filter(Boolean))),
      ),
  }
}

/**
 * The pattern of a deny or ask rule: it also matches look-alike names. If the written name does not exist, file tools open the name that looks the
 * same (`resolveToolPath`), and the author of the rule sees no difference.
 */
export function matchingLookAlikes(pattern: PathPattern): PathPattern {
  const { anchors, foldedGlob } = pattern
  if (foldedGlob === undefined) return pattern
  const foldedBelow = (path: string): readonly (readonly string[])[] =>
    anchors
      .filter((root) => isInside(path, root))
      .map((root) => foldedName(relative(root, path)).split(sep).filter(Boolean))
  return {
    ...pattern,
    matches: (path) =>
      pattern.matches(path) || foldedBelow(path).some((segments) => matchesPathOrAbove(foldedGlob, segments)),
    couldMatchBelow: (folder) =>
      pattern.couldMatchBelow(folder) || foldedBelow(folder).some((segments) => couldMatchBelow(foldedGlob, segments)),
  }
}

/** For `folder/**` the folder, for a name the name; empty for a pattern that matches only a part of a folder. */
function wholeStems(anchors: readonly string[], segments: readonly string[]): readonly string[] {
  const names = segments.at(-1) === '**' ? segments.slice(0, -1) : segments
  return names.some((name) => /[*?[\\]/.test(name)) ? [] : anchors.map((root) => join(root, ...names))
}

/** The base folder of a pattern, and whether its prefix names it. */
function anchored(
  spec: string,
  { cwd, projectDirectory }: PatternRoots,
): { readonly anchor: string; readonly pattern: string; readonly isAnchored: boolean } {
  const isAnchored = /^(?:\/|~\/|~$|\.\/)/.test(spec)
  if (spec.startsWith('//')) return { anchor: '/', pattern: spec.slice(2), isAnchored }
  if (spec === '~' || spec.startsWith('~/')) return { anchor: homeFolder(), pattern: spec.slice(2), isAnchored }
  if (spec.startsWith('/')) return { anchor: join(projectDirectory), pattern: spec.slice(1), isAnchored }
  return { anchor: cwd, pattern: spec, isAnchored }
}
