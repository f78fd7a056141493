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

/** A gitignore pattern with the place from which it counts. */
export interface PathPattern {
  /** As it was written. */
  readonly source: string
  /** Both ends of the folder from which it counts. */
  readonly anchors: readonly string[]
  /** What the path below an anchor, or a folder above it, looks like. */
  readonly glob: GlobPattern
  /** The same with one spelling for names that look the same; absent where no other name looks like what is written. */
  readonly foldedGlob?: GlobPattern
  /** The paths that it names, if it is no pattern but a name. */
  readonly named: readonly string[]
  /** The folders and files that it fits whole. */
  readonly stems: readonly string[]
  /** Whether the pattern fits a path. */
  matches(path: string): boolean
  /** The same, and the pattern spells these names of the path, counted from the root. */
  spells(path: string, names: ReadonlySet<number>): boolean
  /** Whether it may fit something that lies in a folder. */
  couldFitBelow(folder: string): boolean
}

/** The folders from which patterns count. */
export interface PatternRoots {
  /** What `./` and bare patterns are relative to. */
  readonly cwd: string
  /** What `/` is: the project of the settings file that the rule stands in. */
  readonly projectDirectory: string
}

/**
 * Reads `//absolute`, `~/home`, `/in the project`, `./in cwd` and bare patterns. A pattern that fits a folder fits all below
 * it; a bare one without a slash fits at any depth, and one with a prefix (`/name`, `./name`) fits only there. Returns what is wrong with it when it is no pattern.
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
    return { problem: 'there is no path in it' }
  // Only a bare name matches at any depth. `/name` is one file, also where the project is the working directory.
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
        // What the place is called from which the pattern counts is not spelled by it.
        const isBelow = [...below].every((at) => at >= 0)
        return (
          isBelow &&
          isInside(path, root) &&
          matchesAndSpells(glob, relative(root, path).split(sep).filter(Boolean), below)
        )
      }),
    couldFitBelow: (folder) =>
      anchors.some(
        (root) =>
          isInside(root, folder) ||
          (isInside(folder, root) && couldMatchBelow(glob, relative(root, folder).split(sep).filter(Boolean))),
      ),
  }
}

/**
 * The pattern of a rule that takes away: it fits names that look the same, too. Where nothing has the name in a call, file tools open the one that looks
 * the same (`resolveToolPath`), and the person who wrote the rule sees no difference.
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
    couldFitBelow: (folder) =>
      pattern.couldFitBelow(folder) || foldedBelow(folder).some((segments) => couldMatchBelow(foldedGlob, segments)),
  }
}

/** Of `folder/**` the folder, of a name the name; nothing of a pattern that fits a part of what lies in a folder. */
function wholeStems(anchors: readonly string[], segments: readonly string[]): readonly string[] {
  const names = segments.at(-1) === '**' ? segments.slice(0, -1) : segments
  return names.some((name) => /[*?[\\]/.test(name)) ? [] : anchors.map((root) => join(root, ...names))
}

/** The folder from which a pattern counts, and whether its prefix names that folder. */
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
