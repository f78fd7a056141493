import type { PermissionRequest } from '@halting/core'
import { bothEnds } from '../paths.ts'
import type { Confinement } from '../sandbox/wall.ts'
import { analyseShell, type ShellAnalysis, type SimpleCommand } from '../shell/analysis.ts'
import { effectsOfCommand, isConfinableAnalysis } from '../shell/read-only.ts'
import { isHarmlessBesideRules, isPlainLine } from '../shell/plain-line.ts'
import { personalGitFiles, repositoryPlaces } from './git-settings.ts'
import { innermost, placesOf, whereaboutsOf } from './places.ts'
import type { RuleBook } from './rule-book.ts'

/** A part of a line, and what lets it run. */
export interface ConfinablePart {
  readonly part: string
  /** A rule of the person lets it run. */
  readonly isRule?: true
  /** The command that it is; undefined for a redirect. */
  readonly of?: SimpleCommand
}

/** Whether commands that were judged to read only run confined. In `bypassPermissions` nothing is. */
export function canConfine({ wall, mode }: Pick<RuleBook, 'wall' | 'mode'>): boolean {
  if (mode === 'bypassPermissions') return false
  const kind = wall?.means().kind
  return kind === 'landlock' || kind === 'bubblewrap'
}

/**
 * Why a line of which every part may run still asks: where some parts run by rules, it runs unconfined, and where nothing
 * confines commands, too; then it has to be so plain that there is one way to read it. Undefined when it runs.
 */
export function confinementProblem(
  command: string,
  parts: readonly ConfinablePart[],
  { wall }: RuleBook,
): string | undefined {
  const means = wall?.means()
  if (means === undefined || means.kind === 'off') return undefined
  const byRule = parts.filter(({ isRule }) => isRule === true).length
  if (byRule === parts.length) return undefined
  const analysis = analyseShell(command)
  if (byRule > 0) {
    if (!isPlainLine(command))
      return 'a part of it runs by a rule, unconfined, and the line is not plain enough to vouch for the rest'
    const other = parts.find(({ isRule, of }) => isRule !== true && of !== undefined && !isHarmlessBesideRules(of))
    return other === undefined
      ? undefined
      : `a part of it runs by a rule, unconfined, and ${other.part} is not run so without a rule`
  }
  if (means.kind !== 'none' || !isConfinableAnalysis(analysis)) return undefined
  return isPlainLine(command)
    ? undefined
    : `nothing confines commands here (${means.why}), and the line is not plain enough to run without`
}

/** Programs that show the processes of the machine. */
const looking: ReadonlySet<string> = new Set('ps pgrep pstree top free uptime w'.split(' '))

/**
 * To what a command is confined that its rules let run; undefined where a rule, a hook or the mode lets it run as it is, or
 * nothing can confine it. To be asked about a call that is allowed.
 */
export function confinementOf(
  { hookDecision }: Pick<PermissionRequest, 'hookDecision'>,
  command: string,
  parts: readonly ConfinablePart[],
  book: RuleBook,
): Confinement | undefined {
  if (hookDecision === 'allow' || !canConfine(book)) return undefined
  const analysis = analyseShell(command)
  if (parts.some(({ isRule }) => isRule === true) || !isConfinableAnalysis(analysis)) return undefined
  const looks = isPlainLine(command) && analysis.commands.some((one) => looking.has(innermost(one)[0]?.value ?? ''))
  return { kind: looks ? 'look' : 'read', readable: readableFor(analysis, book) }
}

function readableFor(analysis: ShellAnalysis, book: RuleBook): readonly string[] {
  return [
    ...new Set([
      ...book.directories,
      ...book.readableFolders,
      ...namedByRules(book),
      ...ofRepositories(analysis, book),
    ]),
  ]
}

/** What Read rules allow: the folder in which a pattern begins to be one. */
function namedByRules({ allow }: RuleBook): readonly string[] {
  return allow.flatMap(({ tool, spec }) => {
    if (tool !== 'Read') return []
    return spec.kind === 'any' ? ['/'] : spec.kind === 'path' ? spec.pattern.stems : []
  })
}

/** From a folder below its root git reads all of a repository, and the person's own settings. */
function ofRepositories(analysis: ShellAnalysis, book: RuleBook): readonly string[] {
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const folders = analysis.commands
    .flatMap(effectsOfCommand)
    .flatMap((effect) => (effect.kind === 'git' ? placesOf(effect.folder, whereabouts).paths : []))
  const isGit = analysis.commands.some((one) => innermost(one)[0]?.value === 'git')
  return [...[...new Set(folders)].flatMap(repositoryPlaces), ...(isGit ? personalGitFiles() : [])].flatMap(bothEnds)
}
