import { analyseShell, type ShellAnalysis, type SimpleCommand } from './analysis.ts'
import { isReadOnlyGit } from './read-only-git.ts'
import { formsOf } from './wrappers.ts'
import type { ShellWord } from './words.ts'

/** True when the command line changes nothing, by the list below (spec R-RULE-7). When in doubt, false. */
export function isReadOnlyCommand(command: string): boolean {
  return isReadOnlyAnalysis(analyseShell(command))
}

function isReadOnlyAnalysis(analysis: ShellAnalysis): boolean {
  return (
    analysis.commands.length > 0 &&
    isPlain(analysis) &&
    analysis.commands.every(isReadOnlySimpleCommand) &&
    analysis.redirects.every(({ direction, target }) => direction === 'in' || isHarmlessSink(target))
  )
}

/** Nothing in it could change what its commands mean. */
function isPlain(analysis: ShellAnalysis): boolean {
  return analysis.opaque.length === 0 && analysis.features.size === 0 && analysis.variables.every(isHarmlessVariable)
}

/** A place to write to where nothing is kept. */
export function isHarmlessSink(target: ShellWord): boolean {
  return target.kind === 'literal' && /^\/dev\/(?:null|stdout|stderr|tty|fd\/\d+)$/.test(target.value)
}

export function isHarmlessAssignment({ value }: ShellWord): boolean {
  return isHarmlessVariable(value.split(/\+?=/, 1)[0] ?? '')
}

/** Variables that no program takes commands, libraries or paths to programs from. */
export function isHarmlessVariable(name: string): boolean {
  return harmlessVariables.has(name) || /^LC_[A-Z]+$/.test(name)
}

const harmlessVariables: ReadonlySet<string> = new Set(
  (
    'LANG TZ NO_COLOR FORCE_COLOR CI NODE_ENV COLUMNS LINES TERM RUST_BACKTRACE RUST_LOG GOOS GOARCH ' +
    'PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE DEBUG'
  ).split(' '),
)

/** The command alone, without what stands around it. Wrappers are looked through. */
export function isReadOnlySimpleCommand(command: SimpleCommand): boolean {
  const [name, ...args] = formsOf(command.words).at(-1) ?? []
  if (name === undefined || name.kind !== 'literal' || !command.assignments.every(isHarmlessAssignment)) return false
  // xargs hands over arguments that nobody has seen.
  if (command.words.some((word) => word.value === 'xargs') && name.value !== 'echo') return false
  return Object.hasOwn(readers, name.value) && readers[name.value]?.(args) === true
}

type Check = (args: readonly ShellWord[]) => boolean

const always: Check = () => true
const values = (args: readonly ShellWord[]): readonly string[] => args.map((word) => word.value)

/** Options that run or write something, wherever the shell could put them in. */
const changingFindActions = /^-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)$/

/** Commands that only read, each with a check of its arguments where some of them write. */
const readers: Readonly<Record<string, Check>> = {
  ls: always,
  cat: always,
  echo: always,
  pwd: always,
  head: always,
  tail: always,
  grep: always,
  wc: always,
  which: always,
  diff: always,
  stat: always,
  du: always,
  cd: always,
  true: always,
  false: always,
  ':': always,
  basename: always,
  dirname: always,
  realpath: always,
  readlink: always,
  whoami: always,
  uname: always,
  // -v assigns, and a subscript in its argument can run commands.
  printf: (args) => args[0]?.kind === 'literal' && !args[0].value.startsWith('-'),
  test: (args) => !values(args).some((value) => value === '-v' || value === '-R') && args.every(isNotDynamic),
  '[': (args) => !values(args).some((value) => value === '-v' || value === '-R') && args.every(isNotDynamic),
  command: (args) => args[0]?.value === '-v' || args[0]?.value === '-V',
  type: always,
  // A variable or the name of a file could be an action.
  find: (args) =>
    args.every((word) => word.kind === 'literal' || /^[./]/.test(word.source)) &&
    args.every(isNotDynamic) &&
    !values(args).some((value) => changingFindActions.test(value)),
  git: (args) => args.every((word) => word.kind === 'literal') && isReadOnlyGit(values(args)),
}

function isNotDynamic(word: ShellWord): boolean {
  return word.kind !== 'dynamic'
}
