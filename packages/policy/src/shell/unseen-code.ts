import { effectsOf, isDescribed } from './command-effects.ts'
import { firstOperands } from './subcommands/equivalent-commands.ts'
import { memoizeByObject, memoizeByWords } from './memoize.ts'
import type { ShellWord } from './words.ts'
import { otherShells, scriptOfShell, shells } from './inner-scripts.ts'
import { scriptMayReach } from './scripts-of-filters.ts'
import { nameOf, runsItsArguments } from './wrappers.ts'
import {
  evaluatesUnknown,
  findMayRunUnknown,
  gitRunsArgument,
  makeMayRun,
  mayRunArguments,
  runsCodeElsewhere,
  runsItsInput,
  runsUnanalyzedCode,
  scriptMayReachMore,
  sqliteMayRun,
  xargsRunsInput,
} from './shell-texts.ts'

/** Programs that run code from an argument, and their options for it. */
const interpreters: Readonly<Record<string, RegExp>> = {
  python: /^-[A-Za-z]*c/,
  python2: /^-[A-Za-z]*c/,
  python3: /^-[A-Za-z]*c/,
  node: /^(?:-[A-Za-z]*[ep]|--eval|--print)/,
  nodejs: /^(?:-[A-Za-z]*[ep]|--eval|--print)/,
  bun: /^(?:-e|--eval|-p|--print)/,
  deno: /^eval$/,
  perl: /^-[A-Za-z0-9]*[eE]/,
  ruby: /^-[A-Za-z]*e/,
  php: /^-[A-Za-z]*[rBRE]/,
  lua: /^-e/,
  Rscript: /^-e/,
  osascript: /^-e/,
  tclsh: /^$/,
  expect: /^-c/,
  gdb: /^-/,
  vim: /^[-+]/,
  vi: /^[-+]/,
  nvim: /^[-+]/,
  ex: /^[-+]/,
  emacs: /^-/,
  ed: /^/,
}

/** Builtins that run or load their arguments, or evaluate subscripts in them. */
const builtins: Readonly<Record<string, (values: readonly string[]) => boolean>> = {
  source: () => true,
  '.': () => true,
  compgen: () => true,
  complete: () => true,
  bind: () => true,
  enable: (values) => values.some((value) => /^-[A-Za-z]*f/.test(value)),
  hash: (values) => values.some((value) => /^-[A-Za-z]*p/.test(value)),
  alias: (values) => values.length > 0,
  fc: () => true,
  jobs: (values) => values.some((value) => /^-[A-Za-z]*x/.test(value)),
  mapfile: (values) => values.some((value) => /^-[A-Za-z]*C/.test(value)) || holdsSubscript(values),
  readarray: (values) => values.some((value) => /^-[A-Za-z]*C/.test(value)) || holdsSubscript(values),
  let: (values) => values.some((value) => /[[$`A-Za-z]/.test(value)),
  test: (values) => values.some((value) => /^-[vR]$/.test(value)) && holdsSubscript(values),
  '[': (values) => values.some((value) => /^-[vR]$/.test(value)) && holdsSubscript(values),
  ...Object.fromEntries(
    ['unset', 'declare', 'typeset', 'local', 'export', 'readonly', 'read', 'printf', 'wait', 'getopts'].map((name) => [
      name,
      (values: readonly string[]) =>
        (name === 'printf' ? values[0]?.startsWith('-v') === true : true) && holdsSubscript(values),
    ]),
  ),
}

const textOptions: ReadonlySet<string> = new Set(['-p', '-d'])

/** Builtins that take the name of a variable from a word that only the shell knows: a subscript in it runs commands. `-i` and `-n` evaluate values. */
function namesVariable(name: string, args: readonly ShellWord[]): boolean {
  const isUnknown = ({ kind, source }: ShellWord): boolean => kind !== 'literal' && !/^[A-Za-z_]\w*\+?=/.test(source)
  switch (name) {
    case 'printf':
      return args[0]?.value === '-v' && args[1] !== undefined && isUnknown(args[1])
    case 'test':
    case '[':
      return testsUnknown(args)
    case 'unset':
    case 'mapfile':
    case 'readarray':
    case 'getopts':
      return args.some(isUnknown)
    case 'read':
      return args.some((word, at) => isUnknown(word) && !textOptions.has(args[at - 1]?.value ?? ''))
    case 'export':
    case 'readonly':
      return args.some(isUnknown)
    case 'declare':
    case 'typeset':
    case 'local':
      return args.some((word) => isUnknown(word) || /^-[A-Za-z]*[in]/.test(word.value))
    default:
      return false
  }
}

/** `test -v NAME`, if the name, or the `-v`, is only known at run time. */
function testsUnknown(args: readonly ShellWord[]): boolean {
  const isOpen = args.filter(({ kind }) => kind !== 'literal')
  if (isOpen.length === 0) return false
  const [first] = args
  return (
    args.some(({ value }) => /^-[vR]$/.test(value)) ||
    isOpen.some(({ isOne }) => isOne !== true) ||
    (first?.kind !== 'literal' && args.filter(({ value }) => value !== ']').length === 2)
  )
}

function holdsSubscript(values: readonly string[]): boolean {
  return values.some((value) => /\[.*[$`A-Za-z]/s.test(value) && value !== '[')
}

const git =
  /^(?:-c|--config-env.*|--exec-path.*|bisect|filter-branch|rebase|submodule|difftool|mergetool|config|for-each-repo|maintenance|hook)$/

/**
 * Why a command may run something that is not among the found commands: code in another language, a script from a file or a pipe, a word that is
 * read as a command. Undefined if there is no sign of it.
 */
export function unseenCode(words: readonly ShellWord[], hasInput: boolean): string | undefined {
  return hasInput ? unseenWithInput(words) : unseenWithoutInput(words)
}

const unseenWithInput = memoizeByObject((words: readonly ShellWord[]) => findUnseenCode(words, true))
const unseenWithoutInput = memoizeByObject((words: readonly ShellWord[]) => findUnseenCode(words, false))

function findUnseenCode(words: readonly ShellWord[], hasInput: boolean): string | undefined {
  const [first, ...args] = words
  if (first === undefined) return undefined
  const name = nameOf(first.value)
  const values = args.map(({ value }) => value)
  const interpreter = name.replace(/^(python|perl|ruby|lua|php|node)[\d.]*$/, '$1')
  if (shells.has(name) && (otherShells.has(name) || scriptOfShell(args) === undefined)) {
    const isInfo = values.length === 1 && values[0] === '--version'
    return isInfo ? undefined : runsCodeElsewhere(name)
  }
  if (hasInput && readsCommands.has(name)) return runsItsInput(name)
  if (Object.hasOwn(interpreters, interpreter)) {
    const givesCode = values.some((value) => interpreters[interpreter]?.test(value) === true)
    const readsCode = hasInput && !values.some((value) => !value.startsWith('-'))
    if (givesCode || readsCode) return runsUnanalyzedCode(name)
  }
  if (scriptMayReach(name, args)) return scriptMayReachMore(name)
  if (name === 'make' && values.some((value) => /^(?:-[A-Za-z]*[fE]|--(?:fi|mak|ev))|^[A-Z_.]+:?=/.test(value)))
    return makeMayRun
  if (
    name === 'sqlite3' &&
    values.some((value) => /^\s*\.|\b(?:readfile|writefile|edit|load_extension)\b/i.test(value))
  )
    return sqliteMayRun
  if (name === 'git' && values.includes('grep') && values.some((value) => /^(?:-[A-Za-z]*O|--op)/.test(value)))
    return gitRunsArgument
  if (name === 'find' && mayHoldExec(args)) return findMayRunUnknown
  // The words that it passes on may be the script.
  if (name === 'xargs' && values.some((value) => shells.has(nameOf(value)))) return xargsRunsInput
  if (Object.hasOwn(builtins, name) && builtins[name]?.(values) === true) return mayRunArguments(name)
  if (namesVariable(name, args)) return evaluatesUnknown(name)
  // `env -S 'rm x'`, `watch 'rm x'`: a word that is split again.
  if (runsItsArguments(words) && args.some(({ kind, value }) => kind !== 'literal' || /\s/.test(value)))
    if (!isDescribed(name) && !ignoredRunners.has(name)) return mayRunArguments(name)
  return undefined
}

/** Whether a word that only the shell knows may be `-exec`, or several words with it. A single word needs further words for the command and its end. */
function mayHoldExec(args: readonly ShellWord[]): boolean {
  const ends = args.findLastIndex(({ kind, value }) => kind !== 'literal' || /^(?:;|\+)$/.test(value))
  return args.some(
    ({ kind, isOne, isRevision, value }, at) =>
      kind === 'dynamic' &&
      isRevision !== true &&
      (isOne !== true || (ends > at && /^(?:[$`"']|-(?:[eo$`"']|$))/.test(value))),
  )
}

/** Programs other than shells that read commands from their input. */
const readsCommands: ReadonlySet<string> = new Set(
  'at batch crontab parallel ssh tclsh expect lua gdb dc m4 ed ex vim vi sqlite3 psql mysql ftp sftp telnet nc'.split(
    ' ',
  ),
)

/** Runners whose arguments are checked one by one by name. */
const ignoredRunners: ReadonlySet<string> = new Set(
  'timeout time nice nohup stdbuf command builtin xargs exec find coproc fd sudo doas'.split(' '),
)

/** Programs whose arguments are not commands, even if they look like one. */
const operandPrograms: ReadonlySet<string> = new Set(
  'npm yarn pnpm docker podman cargo brew pip pip3 gh go apt apt-get dnf conda poetry uv gem bundle kubectl helm terraform aws gcloud'.split(
    ' ',
  ),
)
const managers: ReadonlySet<string> = new Set(['npm', 'yarn', 'pnpm', 'brew', 'cargo', 'pip', 'pip3', 'go', 'gh'])
const plainUnless = /^(?:exec|x|dlx|run|explore|create|compose|shell|tool|local-exec)$/

/** What a command may run that is not a separate command in the line. */
export interface PossibleCommands {
  /** One for each possible first word. */
  readonly commands: readonly (readonly ShellWord[])[]
  /** Texts inside words. */
  readonly texts: readonly string[]
}

const noCommands: PossibleCommands = { commands: [], texts: [] }

/** The commands that a word or the following words might be, for an unknown program. */
export const mightBeCommands: (words: readonly ShellWord[]) => PossibleCommands = memoizeByWords(findPossible)

function findPossible(words: readonly ShellWord[]): PossibleCommands {
  const [first, ...args] = words
  if (first === undefined) return noCommands
  const name = nameOf(first.value)
  const values = args.map(({ value }) => value)
  // A copied program runs under another name.
  if (name !== 'cp' && name !== 'mv' && effectsOf(words).every(({ kind }) => kind !== 'unknown' && kind !== 'unseen'))
    return noCommands
  if (name === 'git' && !git.test(values.find((value) => git.test(value)) ?? '-')) return noCommands
  // For these the first operand decides.
  const subcommands = managers.has(name) ? firstOperands(words).map(({ value }) => value) : values
  if (operandPrograms.has(name) && !subcommands.some((value) => runsWhatFollows(name, value))) return noCommands
  return {
    commands: args.slice(0, 200).map((word, at) => [{ ...word, value: nameOf(word.value) }, ...args.slice(at + 1)]),
    texts: values
      .slice(0, 200)
      .flatMap((value) => (/[\s;&|(){}`"'!=]/.test(value) ? textParts(value.slice(0, 10_000)) : [])),
  }
}

/** `exec`, and what package managers accept for it: an abbreviation, or a word that is not a subcommand. */
function runsWhatFollows(name: string, subcommand: string): boolean {
  if (plainUnless.test(subcommand)) return true
  if (name === 'npm') return /^(?:e(?:x(?:ec?)?)?|rum|urn|run-?s.*)$/.test(subcommand)
  return name === 'pnpm' || name === 'yarn'
}

/** Variables from which programs take commands. */
const holdsCommands =
  /^(?:PS\d|PROMPT_COMMAND|BASH_ENV|ENV|SHELL|\w*PAGER|\w*EDITOR|VISUAL|FCEDIT|BROWSER|LESS\w*|GIT_(?!AUTHOR_|COMMITTER_)\w+|\w+_OPTIONS|\w+OPTS?|G?N?U?MAKEFLAGS|LD_\w+|\w+_RSH|\w+_ASKPASS|PERL5\w+|PYTHONSTARTUP)$/

/**
 * The commands that the value of a variable might be for a program that uses it; undefined if they are only known at run time. `isOfShell`: the
 * variable is not exported, but arithmetic evaluates its value.
 */
export function commandsInValue(word: ShellWord, isOfShell: boolean): readonly string[] | undefined {
  const [name = ''] = word.value.split(/[+[=]/, 1)
  const value = word.value.slice(word.value.indexOf('=') + 1).slice(0, 10_000)
  if (isOfShell) return /[$`]/.test(value) && word.kind === 'literal' ? textParts(value) : []
  if (!holdsCommands.test(name)) return textParts(value)
  if (word.kind !== 'literal' || /["'\\$`]/.test(value)) return undefined
  const words = value.split(/\s+/).slice(0, 50)
  return [...textParts(value), ...words.map((first, at) => [nameOf(first), ...words.slice(at + 1)].join(' '))]
}

/** A text split at everything that may separate commands; once more without its quotes, for programs that split words. */
function textParts(text: string): readonly string[] {
  const joined = text.replaceAll('\\\n', '')
  const parts = [
    ...joined.split(/[\n;&|(){}`"'!=]+|\$\(/),
    ...joined.replaceAll(/["']/g, '').split(/[\n;&|(){}`]+|\$\(/),
  ]
  return [...new Set(parts.map((part) => part.trim()).filter(Boolean))].flatMap((part) => [
    part,
    nameOf(part.split(/\s/, 1)[0] ?? '') + part.slice((part.split(/\s/, 1)[0] ?? '').length),
  ])
}
