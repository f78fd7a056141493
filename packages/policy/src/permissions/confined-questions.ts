import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileChangers, phrasesThatAsk, programsThatAsk, textRunners, textOptions } from '../shell/asking-programs.ts'
import { analyseShell, type ShellAnalysis, type SimpleCommand } from '../shell/analysis.ts'
import { type GitKind, gitKind } from '../shell/programs/git-kinds.ts'
import { gitWrites } from '../shell/programs/git-writes.ts'
import { effectsOfCommand, isHarmlessEffect } from '../shell/read-only.ts'
import { isGit } from '../shell/subcommands/git-commands.ts'
import { equivalentCommands, firstOperands, usualForm, wordsOfText } from '../shell/subcommands/equivalent-commands.ts'
import { familyOf, programName } from '../shell/subcommands/program-names.ts'
import { mightBeCommands } from '../shell/unseen-code.ts'
import { literalWord } from '../shell/read-grammar.ts'
import type { ShellWord } from '../shell/words.ts'
import { formsOf, nameOf, runsItsArguments } from '../shell/wrappers.ts'
import { crudeParts } from './command-rules.ts'
import { matchCommand } from './command-pattern.ts'
import { gitMeaning } from './git-aliases.ts'
import { placesOf, type Whereabouts } from './places.ts'
import { changesRepository, needsNetwork, rewritesTree, worksOutside } from './command-texts.ts'

type Words = readonly ShellWord[]

/** Why a line needs approval although it would be confined, and its git command, if any, that writes only the index or the history. */
export interface AskProblems {
  readonly problem: string | undefined
  readonly gitWriter: string | undefined
}

/** Inspects every command of a line at any depth, including programs that run their arguments. */
export function askProblemsOf(analysis: ShellAnalysis, command: string, whereabouts: Whereabouts): AskProblems {
  let gitWriter: string | undefined
  for (const simple of analysis.commands) {
    for (const found of problemsOf(simple, whereabouts, 0)) {
      if (found.problem !== undefined) return { problem: found.problem, gitWriter }
      gitWriter ??= found.gitWriter
    }
  }
  if (analysis.opaque.length === 0) return { problem: undefined, gitWriter }
  // The line could not be parsed, so its text is split at everything that may separate commands.
  for (const part of new Set(crudeParts(command))) {
    const problem = namedProblem(wordsOfText(part), whereabouts)
    if (problem !== undefined) return { problem, gitWriter }
  }
  return { problem: undefined, gitWriter }
}

interface Found {
  readonly problem?: string | undefined
  readonly gitWriter?: string
}

const deepestTexts = 3

function* problemsOf(simple: SimpleCommand, whereabouts: Whereabouts, depth: number): Generator<Found> {
  const inner = bareCommand(simple.words)
  const [name] = inner
  if (name === undefined) return
  const isFed = inner.length < simple.words.length && simple.words.some(({ value }) => value === 'xargs')
  if (
    !isGit(inner) &&
    effectsOfCommand(simple).every((effect) => effect.kind === 'unseen' || isHarmlessEffect(effect)) &&
    !readsPrivatePlaces(name)
  )
    return
  const forms = isGit(inner) ? [inner] : commandForms(inner)
  for (const form of forms) yield { problem: namedProblem(form, whereabouts) }
  for (const form of forms) {
    if (!isGit(form)) continue
    const kind = isFed ? kindOfFedGit(form, whereabouts) : kindOfGit(form, whereabouts)
    if (kind === 'writes index' && form === inner) yield { gitWriter: gitName(form) }
    else if (kind !== 'reads') yield { problem: gitText(kind === 'writes index' ? 'changes' : kind, form) }
  }
  if (isGit(inner)) return
  // If nothing is known about a program, each of its words may begin a command.
  const possible = runsItsArguments(inner) ? [] : mightBeCommands(inner).commands
  for (const form of possible) yield* problemsOfPossible(form, whereabouts)
  if (depth >= deepestTexts) return
  for (const text of scriptTextsIn(inner))
    for (const within of analyseShell(text).commands) yield* problemsOf(within, whereabouts, depth + 1)
}

function* problemsOfPossible(form: Words, whereabouts: Whereabouts): Generator<Found> {
  if (form.length < 2) return
  const usual = usualForm(form) ?? form
  yield { problem: namedProblem(usual, whereabouts) }
  if (!isGit(usual) || usual[1]?.kind !== 'literal' || !/^-{0,2}[a-zA-Z][\w=.-]*$/.test(usual[1].value)) return
  const kind = kindOfGit(usual, whereabouts)
  if (kind !== 'reads') yield { problem: gitText(kind === 'writes index' ? 'changes' : kind, usual) }
}

/** Programs that only read, but read files that confined commands cannot see. */
function readsPrivatePlaces({ value }: ShellWord): boolean {
  return programsThatAsk.outside.has(programName(value))
}

/** The command by its usual name. For a program that runs a part of its arguments, also every part that it may run. */
function commandForms(inner: Words): readonly Words[] {
  if (runsItsArguments(inner)) return equivalentCommands(inner)
  const usual = usualForm(inner)
  return usual === undefined ? [inner] : [inner, usual]
}

const maxEnvs = 5

/** The command without its wrappers, including `env A=1`. */
function bareCommand(words: Words, left: number = maxEnvs): Words {
  const inner = formsOf(words).at(-1) ?? []
  if (left === 0 || nameOf(inner[0]?.value ?? '') !== 'env') return inner
  const at = inner.findIndex(
    ({ value, kind }, index) => index > 0 && (kind !== 'literal' || !/^(?:[A-Za-z_]\w*=|-i$|--$)/s.test(value)),
  )
  const first = at === -1 ? undefined : inner[at]
  return first?.kind === 'literal' && !first.value.startsWith('-') ? bareCommand(inner.slice(at), left - 1) : inner
}

/** Words that contain a line of shell. */
function scriptTextsIn(words: Words): readonly string[] {
  const isRunner = words.some(({ value }) => textRunners.has(programName(value)))
  return words.flatMap(({ value, kind }, at) =>
    at > 0 && kind === 'literal' && /\s/.test(value) && (isRunner || textOptions.test(words[at - 1]?.value ?? ''))
      ? [value]
      : [],
  )
}

/** Why a program needs approval, by its name. */
function namedProblem(form: Words, whereabouts: Whereabouts): string | undefined {
  const [first] = form
  if (first === undefined || isVersionRequest(form)) return undefined
  const name = programName(first.value)
  const names = [name, familyOf(name)]
  if (names.some((one) => programsThatAsk.network.has(one))) return needsNetwork(name)
  if (names.some((one) => programsThatAsk.outside.has(one))) return worksOutside(name)
  if (name === 'rsync')
    return form.slice(1).some(({ value }) => /^(?:rsync:\/\/|[\w.@-]+:)/.test(value)) ? needsNetwork(name) : undefined
  if (name === 'npx') return isInstalled(form, whereabouts) ? undefined : needsNetwork(name)
  if (name === 'kill' && form.slice(1).some(({ value }) => /^\d+$/.test(value))) return worksOutside(name)
  for (const kind of ['network', 'outside'] as const) {
    const found = phrasesFor(kind, name).find((phrase) => matchCommand(`${phrase} *`, form) === 'yes')
    if (found !== undefined) return kind === 'network' ? needsNetwork(found) : worksOutside(found)
  }
  return undefined
}

function phrasesFor(kind: 'network' | 'outside', name: string): readonly string[] {
  return phrasesThatAsk(kind).get(name) ?? phrasesThatAsk(kind).get(familyOf(name)) ?? []
}

function isVersionRequest(form: Words): boolean {
  return form.length === 2 && form[1]?.kind === 'literal' && /^(?:--version|--help|-V|-h)$/.test(form[1].value)
}

/** Whether `npx` finds the program in the project. */
function isInstalled(form: Words, { directories, isUnknown }: Whereabouts): boolean {
  if (isUnknown) return true
  const [program] = firstOperands(form)
  if (program?.kind !== 'literal') return program !== undefined
  const name = programName(program.value)
  return directories.some((directory) => {
    for (let folder = directory; ; folder = dirname(folder)) {
      if (existsSync(join(folder, 'node_modules/.bin', name))) return true
      if (folder === dirname(folder)) return false
    }
  })
}

/** `xargs git add`: its arguments are unknown. */
function kindOfFedGit(form: Words, whereabouts: Whereabouts): GitKind {
  const kind = kindOfGit(form, whereabouts)
  return kind === 'reads' && firstOperands(form).length > 0 ? 'reads' : kind === 'network' ? kind : 'changes'
}

function kindOfGit(form: Words, whereabouts: Whereabouts): GitKind {
  const usual = usualForm(form)
  const words = usual !== undefined && isGit(usual) ? usual : form
  const meaning = gitMeaning(words, whereabouts)
  if (meaning.unknown !== undefined) return 'changes'
  const isThere = (word: ShellWord): boolean => placesOf(word, whereabouts).paths.some((path) => existsSync(path))
  if (meaning.commands.length === 0) return gitKind(words, isThere)
  // An alias must stand for git commands only, and all of these must be harmless.
  const kinds = meaning.commands.map((command) => (isGit(command) ? gitKind(command, isThere) : 'changes'))
  return kinds.find((kind) => kind === 'network') ?? (kinds.at(-1) === 'reads' ? 'reads' : 'changes')
}

/** The command with its subcommand, as a person would name it. */
function gitName(form: Words): string {
  const [sub] = firstOperands(form)
  return sub === undefined ? 'git' : `git ${sub.value}`
}

function gitText(kind: 'network' | 'changes', form: Words): string {
  if (kind === 'network') return needsNetwork(gitName(form))
  return gitWrites(form) === undefined ? changesRepository(gitName(form)) : rewritesTree(gitName(form))
}

/** The operands that a program changes, if it is a known program without a grammar. */
export function changedOperands(simple: SimpleCommand): { readonly words: Words; readonly isTree: boolean } {
  const [first, ...args] = formsOf(simple.words).at(-1) ?? []
  if (first !== undefined && programName(first.value) === 'find') return rootsChangedByFind(args)
  const how = first === undefined ? undefined : fileChangers.get(programName(first.value))
  if (
    how === undefined ||
    (programName(first?.value ?? '') === 'sed' && !args.some(({ value }) => /^(?:-[a-zA-Z]*i|--in-place)/.test(value)))
  )
    return { words: [], isTree: false }
  const isTree = args.some(({ value }) => /^(?:-[a-zA-Z]*[rR]|--recursive)/.test(value))
  if (how === 'of=')
    return {
      words: args.flatMap((word) => (word.value.startsWith('of=') ? [{ ...word, value: word.value.slice(3) }] : [])),
      isTree,
    }
  const operands = args.filter(({ value }) => value !== '' && !value.startsWith('-'))
  const hasScript = args.some(({ value }) => /^(?:-[a-zA-Z]*[ef]$|--expression|--file|--reference)/.test(value))
  if (how === 'the last') return { words: operands.slice(-1), isTree }
  return { words: how === 'all' || hasScript ? operands : operands.slice(1), isTree }
}

const actionsOfFind = /^-(?:exec|execdir|ok|okdir)$/
const beginsExpression = /^[-!(),]/

/** The start folders of `find` if it removes or changes files. It affects everything below these folders unless it filters by name. */
function rootsChangedByFind(args: Words): { readonly words: Words; readonly isTree: boolean } {
  const begins = args.findIndex(({ value }, at) => beginsExpression.test(value) && !isOptionOfFind(args, at))
  const expression = begins === -1 ? [] : args.slice(begins)
  const changes = expression.findIndex(
    ({ value }, at) =>
      value === '-delete' ||
      (actionsOfFind.test(value) && fileChangers.has(programName(expression[at + 1]?.value ?? ''))),
  )
  if (changes === -1) return { words: [], isTree: false }
  const roots = args.slice(0, begins).filter(({ value }) => !value.startsWith('-'))
  const isLimited = expression
    .slice(0, changes)
    .some(
      ({ value }, at) =>
        (value === '-empty' ||
          (/^-i?(?:name|path|wholename|regex)$/.test(value) && !/^[.*]*$/.test(expression[at + 1]?.value ?? ''))) &&
        !/^(?:!|-not)$/.test(expression[at - 1]?.value ?? ''),
    )
  const isAnyOf = expression.slice(0, changes).some(({ value }) => /^(?:-o|-or|,)$/.test(value))
  return { words: roots.length === 0 ? [literalWord('.')] : roots, isTree: !isLimited || isAnyOf }
}

/** `-L`, `-D tree`, `-O3`: these options precede the folders. */
function isOptionOfFind(args: Words, at: number): boolean {
  return args.slice(0, at + 1).every(({ value }) => /^-(?:[HLP]|O\d)$/.test(value))
}
