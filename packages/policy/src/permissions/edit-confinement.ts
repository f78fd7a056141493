import type { PermissionRequest } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { withoutLookupCache } from '../files/lookup-cache.ts'
import type { EditConfinement } from '../sandbox/confinement.ts'
import { analyseShell, type ShellAnalysis, type SimpleCommand } from '../shell/analysis.ts'
import { gitKind } from '../shell/programs/git-kinds.ts'
import { effectsOfCommand, isHarmlessVariable, isShellLocal, setsHarmlessly } from '../shell/read-only.ts'
import { isGit } from '../shell/subcommands/git-commands.ts'
import { sourceOf } from '../shell/words.ts'
import { askProblemsOf } from './confined-questions.ts'
import { gitWriterProblem } from './git-writers.ts'
import { areChangesKnown, namedPlaceProblem } from './named-places.ts'
import { innermost, type Whereabouts, whereaboutsOf } from './places.ts'
import { deniedPatterns } from './denied-patterns.ts'
import { readableByRules, repositoriesRead } from './read-confinement.ts'
import type { RuleBook } from './rule-book.ts'
import { asksOutside, gitBesideUnknown, runsBesideConversation } from './command-texts.ts'

/** Whether commands that no rule covers run confined to the workspace. */
export function canConfineEdits({ wall, mode }: Pick<RuleBook, 'wall' | 'mode'>): boolean {
  return mode === 'acceptEdits' && withoutLookupCache(() => wall?.edits?.().kind) === 'bubblewrap'
}

// Spec R-EASK-1.
/** Why a command needs approval although it would be confined to the workspace; undefined if it runs. Call it only if `canConfineEdits`. */
export function editProblem(
  { call }: Pick<PermissionRequest, 'call'>,
  command: string,
  book: RuleBook,
): string | undefined {
  if (asksUnconfined({ call })) return asksOutside
  if (isJsonObject(call.input) && call.input['run_in_background'] === true) return runsBesideConversation
  return lineProblem(command, book)
}

/** Whether the model asks to run a command unconfined. */
export function asksUnconfined({ call }: Pick<PermissionRequest, 'call'>): boolean {
  return isJsonObject(call.input) && call.input['unconfined'] === true
}

/** Like `editProblem`, for a command line without its call. */
export function lineProblem(command: string, book: RuleBook): string | undefined {
  return planEdit(command, book).problem
}

interface EditPlan {
  readonly problem: string | undefined
  readonly writesGit: boolean
}

function planEdit(command: string, book: RuleBook): EditPlan {
  const analysis = analyseShell(command)
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const asks = (problem: string): EditPlan => ({ problem, writesGit: false })
  const { problem, gitWriter } = askProblemsOf(analysis, command, whereabouts)
  if (problem !== undefined) return asks(problem)
  if (leavesRunning(analysis)) return asks(runsBesideConversation)
  const place = namedPlaceProblem(analysis, whereabouts, book)
  if (place !== undefined) return asks(place)
  if (gitWriter === undefined) return { problem: undefined, writesGit: false }
  const writing = writingProblem(analysis, gitWriter, whereabouts, book)
  return writing === undefined ? { problem: undefined, writesGit: true } : asks(writing)
}

/** A background process that the same line neither waits for nor ends would be killed at its end. */
function leavesRunning({ features, commands }: ShellAnalysis): boolean {
  if (!features.has('background') && !features.has('coproc')) return false
  return !commands.some((one) => /^(?:wait|kill|fg)$/.test(innermost(one)[0]?.value ?? ''))
}

// Spec R-EASK-3.
/**
 * Why a line with a git command that writes the index or the history needs approval. Such a line may write the git
 * folder, so every other command in it must be known.
 */
function writingProblem(
  analysis: ShellAnalysis,
  writer: string,
  whereabouts: Whereabouts,
  book: RuleBook,
): string | undefined {
  const [opaque] = analysis.opaque
  if (opaque !== undefined) return opaque
  const riskyVariable = analysis.variables.find((name) => !isHarmlessVariable(name) && !isShellLocal(name))
  if (riskyVariable !== undefined || analysis.features.size > 0)
    return gitBesideUnknown(writer, riskyVariable ?? 'the rest')
  const redirect = analysis.redirects.find(({ target }) => target.kind !== 'literal' && target.isPipe !== true)
  if (redirect !== undefined) return gitBesideUnknown(writer, redirect.target.source)
  for (const simple of analysis.commands) {
    const words = innermost(simple)
    if (words.length === 0) continue
    if (isGit(words) && gitKind(words, () => true) === 'writes index') {
      if (!simple.assignments.every(({ value }) => authorVariables.test(value)))
        return gitBesideUnknown(writer, nameOfPart(simple))
      const problem = gitWriterProblem(words, whereabouts, book)
      if (problem !== undefined) return problem
    } else if (!setsHarmlessly(simple) || !areChangesKnown(simple)) return gitBesideUnknown(writer, nameOfPart(simple))
  }
  return undefined
}

const authorVariables = /^GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)=/

function nameOfPart({ assignments, words }: SimpleCommand): string {
  const text = sourceOf([...assignments, ...words]).replaceAll(/\s+/g, ' ')
  return text.length > longestName ? `${text.slice(0, longestName)}…` : text
}

const longestName = 60

/** The confinement of a command that may change the workspace. */
export function editConfinement(command: string, book: RuleBook): EditConfinement {
  const analysis = analyseShell(command)
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const effects = analysis.commands.flatMap(effectsOfCommand)
  return {
    kind: 'edit',
    directories: book.directories,
    readable: [...book.readableFolders, ...readableByRules(book), ...repositoriesRead(effects, whereabouts)],
    denied: deniedPatterns(book.deny),
    writesGit: planEdit(command, book).writesGit,
  }
}
