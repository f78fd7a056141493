import { commandOfFind } from './programs/find.ts'
import { isDescribed } from './command-effects.ts'
import { formsOf, maxRunnerWords, nameOf, runsOnFound, runsItsArguments } from './wrappers.ts'
import type { ShellWord } from './words.ts'
import { unknownRun } from './shell-texts.ts'

/** A command inside the arguments of another one. */
export type InnerScript =
  /** `isElsewhere`: the shell is started by a program that may set variables. */
  | { readonly kind: 'script'; readonly script: string; readonly isElsewhere?: true }
  | { readonly kind: 'words'; readonly words: readonly ShellWord[] }
  | { readonly kind: 'unknown'; readonly why: string }

/** Shells with another language. Text in that language that looks like a bash command counts as one. */
export const otherShells: ReadonlySet<string> = new Set(['fish', 'csh', 'tcsh'])
export const shells: ReadonlySet<string> = new Set([
  'bash',
  'sh',
  'dash',
  'zsh',
  'ksh',
  'mksh',
  'ash',
  'rbash',
  ...otherShells,
])

/** Commands that a command runs from its arguments: `eval`, `bash -c`, `trap`, `find -exec`. */
export function scriptsWithin(command: readonly ShellWord[]): readonly InnerScript[] {
  // Without wrappers: `nohup bash -c ...` is `bash -c ...`.
  const words = formsOf(command).at(-1) ?? []
  const name = words[0]
  if (name === undefined || runsOnFound(words)) return scriptsOf(words)
  // `exec bash -c ...`, `sudo -u x bash -c ...`: the program runs some of its later words. An unknown program may do so too.
  const isRunner = runsItsArguments(words)
  if (!isRunner && (isDescribed(nameOf(name.value)) || shells.has(nameOf(name.value)))) return scriptsOf(words)
  const inner = words
    .slice(1, maxRunnerWords)
    .flatMap((word, at) => (isRunner || shells.has(nameOf(word.value)) ? scriptsOf(words.slice(at + 1)) : []))
  const own = isRunner ? [] : scriptsOf(words)
  return [...own, ...inner.map((one) => (one.kind === 'script' ? { ...one, isElsewhere: true as const } : one))]
}

function scriptsOf([name, ...args]: readonly ShellWord[]): readonly InnerScript[] {
  if (name === undefined) return []
  const program = nameOf(name.value)
  if (program === 'eval') return args.length === 0 ? [] : [textScript(args, 'eval')]
  if (program === 'trap') return trapScript(args)
  if (program === 'find') return findScripts(args)
  if (shells.has(program)) return shellScript(args, program)
  return []
}

function textScript(words: readonly ShellWord[], program: string): InnerScript {
  return words.every((word) => word.kind === 'literal')
    ? { kind: 'script', script: words.map((word) => word.value).join(' ') }
    : { kind: 'unknown', why: unknownRun(program) }
}

function trapScript(args: readonly ShellWord[]): readonly InnerScript[] {
  const [script] = args.filter((word) => word.value !== '--')
  return script === undefined || script.value === '-' || script.value === '-l' || script.value === '-p'
    ? []
    : [textScript([script], 'trap')]
}

function shellScript(args: readonly ShellWord[], program: string): readonly InnerScript[] {
  const script = scriptOfShell(args)
  if (script === undefined) return []
  if (script === 'unknown') return [{ kind: 'unknown', why: unknownRun(program) }]
  return [textScript([script], program)]
}

/** Long options of shells that take no value and run nothing. */
const longOptions: ReadonlySet<string> = new Set(
  '--norc --noprofile --posix --login --verbose --restricted --noediting --version --help'.split(' '),
)

/**
 * The script of `-c` of a shell: the first word that is neither an option nor the value of `-o` or `-O`. Undefined
 * without `-c`; a `-c` after the first operand is an argument of the script.
 */
export function scriptOfShell(args: readonly ShellWord[]): ShellWord | 'unknown' | undefined {
  let hasScript = false
  let at = 0
  for (; at < args.length; at += 1) {
    const word = args[at]
    if (word?.kind !== 'literal') return 'unknown'
    const { value } = word
    if (!/^[-+]/.test(value)) break
    if (value === '--' || value === '-') {
      at += 1
      break
    }
    if (value.startsWith('--') && !longOptions.has(value)) return 'unknown'
    if (value.startsWith('--')) continue
    hasScript ||= value.includes('c')
    at += value.match(/[oO]/g)?.length ?? 0
  }
  return hasScript ? args[at] : undefined
}

const findRunners: ReadonlySet<string> = new Set(['-exec', '-execdir', '-ok', '-okdir'])

function findScripts(args: readonly ShellWord[]): readonly InnerScript[] {
  return args.flatMap((word, index): readonly InnerScript[] => {
    if (!findRunners.has(word.value)) return []
    const rest = args.slice(index + 1)
    return [{ kind: 'words', words: commandOfFind(rest)?.words ?? rest }]
  })
}
