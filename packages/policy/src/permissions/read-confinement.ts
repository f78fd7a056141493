import type { PermissionRequest } from '@halting/core'
import { withoutLookupCache } from '../files/lookup-cache.ts'
import { bothEnds } from '../files/paths.ts'
import type { ReadConfinement } from '../sandbox/confinement.ts'
import { analyseShell, type ShellAnalysis, type SimpleCommand } from '../shell/analysis.ts'
import { directoriesLeadingOutside, leadsOutside } from '../sandbox/outside-links.ts'
import type { Effect } from '../shell/effects.ts'
import { effectsOfCommand, isConfinableAnalysis } from '../shell/read-only.ts'
import { holdsGitSecret, personalGitFiles, repositoryPlaces } from './git-settings.ts'
import { innermost, placesOf, type Whereabouts, whereaboutsOf } from './places.ts'
import { isPathAllowed, type RuleBook } from './rule-book.ts'
import { failsConfined, nothingConfines, partNeedsRule, runsUnconfinedByRule, tooComplex } from './command-texts.ts'

/** A part of a line, and what allows it. */
export interface ConfinablePart {
  readonly part: string
  /** Whether a rule of the person allows it. */
  readonly isRule?: true
  /** The command of this part; undefined for a redirect. */
  readonly of?: SimpleCommand
}

/** Whether commands that are judged read-only run confined. In `bypassPermissions` no command runs confined. */
export function canConfine({ wall, mode }: Pick<RuleBook, 'wall' | 'mode'>): boolean {
  if (mode === 'bypassPermissions') return false
  const kind = withoutLookupCache(() => wall?.means().kind)
  return kind === 'landlock' || kind === 'bubblewrap'
}

/**
 * Why a line needs approval although each part of it may run; undefined if the line runs. If some parts run by rules, or
 * if nothing can confine commands, the line runs unconfined. Then its text must be so simple that there is only one way
 * to read it.
 */
export function confinementProblem(
  command: string,
  parts: readonly ConfinablePart[],
  { wall }: RuleBook,
): string | undefined {
  const means = withoutLookupCache(() => wall?.means())
  if (means === undefined || means.kind === 'off') return undefined
  const byRule = parts.filter(({ isRule }) => isRule === true).length
  // Assignments to shell variables run nothing that a rule could name.
  if (byRule === parts.filter(({ of }) => of?.words.length !== 0).length) return undefined
  const analysis = analyseShell(command)
  const unconfined = analysis.commands.find(showsProcesses)
  if (byRule > 0 || unconfined !== undefined) {
    const cause = byRule > 0 ? runsUnconfinedByRule : failsConfined(programOf(unconfined))
    if (!isPlainLine(command)) return tooComplex(cause)
    const other = parts.find(
      ({ isRule, of }) => isRule !== true && of !== undefined && !showsProcesses(of) && !isHarmlessBesideRules(of),
    )
    return other === undefined ? undefined : partNeedsRule(cause, other.part)
  }
  if (means.kind !== 'none' || !isConfinableAnalysis(analysis)) return undefined
  return isPlainLine(command) ? undefined : nothingConfines(means.why)
}

/** Programs that read what the kernel hides from confined processes: sockets and open files of other processes. */
const needsUnconfined: ReadonlySet<string> = new Set(['ss', 'lsof'])

export function showsProcesses(command: SimpleCommand): boolean {
  return needsUnconfined.has(programOf(command))
}

function programOf(command: SimpleCommand | undefined): string {
  return command === undefined ? '' : (innermost(command)[0]?.value ?? '')
}

/** Programs that show the processes of the machine. */
const processViewers: ReadonlySet<string> = new Set('ps pgrep pstree top free uptime w'.split(' '))

/**
 * The confinement of a command that its rules allow; undefined if a rule, a hook or the mode lets it run unconfined, or if nothing can confine it.
 * Call it for allowed calls only.
 */
export function confinementOf(
  { hookDecision }: Pick<PermissionRequest, 'hookDecision'>,
  command: string,
  parts: readonly ConfinablePart[],
  book: RuleBook,
): ReadConfinement | undefined {
  if (hookDecision === 'allow' || !canConfine(book)) return undefined
  const analysis = analyseShell(command)
  if (parts.some(({ isRule }) => isRule === true) || !isConfinableAnalysis(analysis)) return undefined
  if (analysis.commands.some(showsProcesses)) return undefined
  const looks = isPlainLine(command) && analysis.commands.some((one) => processViewers.has(programOf(one)))
  return { kind: looks ? 'look' : 'read', readable: readablePlacesFor(analysis, book) }
}

function readablePlacesFor(analysis: ShellAnalysis, book: RuleBook): readonly string[] {
  const effects = analysis.commands.flatMap(effectsOfCommand)
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const named = effects.flatMap((effect) => ('word' in effect ? placesOf(effect.word, whereabouts).paths : []))
  const allowed = [...new Set(named)].filter((path) => isPathAllowed(book, { kind: 'read', toolName: 'Read' }, path))
  // Words that are only known at run time could name a password file that only git may read.
  const isSeen = effects.every(({ kind }) => kind !== 'unseen')
  const ofGit = repositoriesRead(effects, whereabouts)
  const isGit = analysis.commands.some((one) => programOf(one) === 'git')
  const personal = isGit ? personalGitFiles().filter((file) => isSeen || !holdsGitSecret(file)) : []
  const ledOut = directoriesLeadingOutside(book.directories)
  const directories = book.directories.filter((path) => !ledOut.includes(path))
  const all = [...directories, ...book.readableFolders, ...readableByRules(book), ...allowed, ...ofGit, ...personal]
  return [...new Set(all)]
}

/** What Read rules allow: for a pattern, the folder before its first wildcard. */
export function readableByRules({ allow, directories }: RuleBook): readonly string[] {
  const named = allow.flatMap(({ tool, spec }) => {
    if (tool !== 'Read') return []
    return spec.kind === 'any' ? ['/'] : spec.kind === 'path' ? spec.pattern.stems : []
  })
  return named.filter((path) => !leadsOutside(path, directories))
}

/** From a folder below the root, git reads the whole repository. */
export function repositoriesRead(effects: readonly Effect[], whereabouts: Whereabouts): readonly string[] {
  const folders = effects.flatMap((effect) => (effect.kind === 'git' ? placesOf(effect.folder, whereabouts).paths : []))
  return [...new Set(folders)].flatMap(repositoryPlaces).flatMap(bothEnds)
}

const wordPattern = String.raw`(?:[\w./:=@%+,~^{}*?\[\]#-]|'[^'\n]*'|"[^"$\\\x60\n]*")+`
const redirectPattern = String.raw`(?:2>&1|[12]?>>? ?${wordPattern}|< ?${wordPattern})`
const commandPattern = String.raw`${wordPattern}(?: +(?:${wordPattern}|${redirectPattern}))*`
const plainLinePattern = new RegExp(String.raw`^ *${commandPattern}(?: *(?:&&|\|\||;|\|) *${commandPattern})* *;? *$`)
const longest = 2_000

/**
 * Whether a line can be read in one way only. Its words contain nothing that the shell expands twice, its quotes are complete without `$`, backtick
 * or backslash, and it has no operators but `&&`, `||`, `;`, `|` and redirects to such words. Takes linear time.
 */
function isPlainLine(text: string): boolean {
  return text.length <= longest && plainLinePattern.test(text)
}

/** Programs that were checked by hand: with any arguments that their grammars accept, they write nothing and run nothing. */
const harmlessPrograms: ReadonlySet<string> = new Set(
  'head tail wc grep sort uniq cut tr echo printf cd true false pwd ls cat basename dirname sleep'.split(' '),
)

/** Whether a command may run unconfined in a simple line in which another part runs by a rule. */
function isHarmlessBesideRules({ words }: SimpleCommand): boolean {
  return words.length === 0 || harmlessPrograms.has(words[0]?.value ?? '')
}
