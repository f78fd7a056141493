import { lstatSync } from 'node:fs'
import { absolutePath } from '../files/paths.ts'
import { gitWrites } from '../shell/programs/git-writes.ts'
import { gitFolders, isGit } from '../shell/subcommands/git-commands.ts'
import type { ShellWord } from '../shell/words.ts'
import { workTreeAround } from './git-settings.ts'
import { possiblePlaces, type Whereabouts } from './places.ts'
import type { PermissionRule } from './rule.ts'
import { type Access, couldMatchBelow, deniableNames, patternForEnds } from './rule-book.ts'
import { gitMayChangeRuledFile } from './command-texts.ts'

type Words = readonly ShellWord[]

const editAccess: Access = { kind: 'edit', toolName: 'Edit' }

/** A name that only patterns for all files of a folder match. */
const probe = '\u0001'

// Spec R-RULE-5d.
/** The first file rule that matches a path which these git commands would change. */
export function ruleForGitWrites(
  rules: readonly PermissionRule[],
  commands: readonly Words[],
  whereabouts: Whereabouts,
): PermissionRule | undefined {
  for (const words of commands) {
    const from = gitWhereabouts(words, whereabouts)
    for (const path of gitWrites(words)?.paths ?? []) {
      for (const place of placesOfPathspec(path, from)) {
        const ends = deniableNames(rules, place).flatMap((end) => [end, `${end}/${probe}`])
        const rule = patternForEnds(rules, editAccess, ends)
        if (rule !== undefined) return rule
      }
    }
  }
  return undefined
}

/** Why a git command may change files of a rule without naming them; undefined if it cannot. */
export function doubtAboutGitWrites(
  rules: readonly PermissionRule[],
  commands: readonly Words[],
  whereabouts: Whereabouts,
): string | undefined {
  const about = rules.filter(({ tool, spec }) => tool === editAccess.toolName && spec.kind === 'path')
  if (about.length === 0) return undefined
  const mayBeAmong = gitMayChangeRuledFile
  for (const words of commands.filter(isGit)) {
    const found = gitWrites(words)
    if (found === undefined) continue
    const from = gitWhereabouts(words, whereabouts)
    if (from.isUnknown) return mayBeAmong
    const trees = from.directories.map((folder) => workTreeAround(folder))
    if (found.isWholeTree && trees.some((tree) => couldMatchBelow(about, tree))) return mayBeAmong
    for (const path of found.paths) {
      // git has its own patterns, and interprets some words differently.
      if (path.kind === 'dynamic' || path.value.startsWith(':') || /[*?[]/.test(path.value)) {
        if (trees.some((tree) => couldMatchBelow(about, tree))) return mayBeAmong
      } else if (placesOfPathspec(path, from).some((place) => !isFile(place) && couldMatchBelow(about, place)))
        return mayBeAmong
    }
  }
  return undefined
}

/** Where git runs: `-C` changes the folder, and `--work-tree` names the work tree. */
function gitWhereabouts(words: Words, { directories, isUnknown }: Whereabouts): Whereabouts {
  const steps = gitFolders(words)
  const trees = words.flatMap((word, at): Words => {
    if (word.value === '--work-tree') return words.slice(at + 1, at + 2)
    return word.value.startsWith('--work-tree=') ? [{ ...word, value: word.value.slice('--work-tree='.length) }] : []
  })
  const started = directories.map((start) => steps.reduce((from, { value }) => absolutePath(value, from), start))
  return {
    directories: [
      ...new Set([...started, ...trees.flatMap(({ value }) => started.map((from) => absolutePath(value, from)))]),
    ],
    isUnknown: isUnknown || [...steps, ...trees].some(({ kind }) => kind !== 'literal'),
  }
}

/** `:/x` and `:(top)x` are relative to the top of the work tree. */
function placesOfPathspec(path: ShellWord, from: Whereabouts): readonly string[] {
  const [, top] = /^:(?:\/|\([^)]*\btop\b[^)]*\))(.*)$/s.exec(path.value) ?? []
  if (top === undefined) return possiblePlaces(path, from)
  const trees = { directories: from.directories.map((folder) => workTreeAround(folder)), isUnknown: false }
  return possiblePlaces({ ...path, value: top === '' ? '.' : top }, trees)
}

function isFile(path: string): boolean {
  try {
    return lstatSync(path).isFile()
  } catch {
    return false
  }
}
