import { memoizeByObject, tailOf } from './memoize.ts'
import type { ShellWord } from './words.ts'

type Words = readonly ShellWord[]

/** How many words of a wrapper come before the command that it runs; undefined when the words are not understood. */
type Skip = (args: readonly string[]) => number | undefined

// Spec R-RULE-6.
/** Programs that run their arguments as a command and change nothing about what it may do. */
const wrappers: Readonly<Record<string, Skip>> = {
  timeout: (args) => {
    const options = optionsOf(
      args,
      /^(?:-v|--verbose|--foreground|--preserve-status|--kill-after=.+|--signal=.+|-[ks].+)$/,
      /^-[ks]$/,
    )
    return options !== undefined && /^[\d.]+[smhd]?$/.test(args[options] ?? '') ? options + 1 : undefined
  },
  time: (args) => optionsOf(args, /^-p$/),
  nice: (args) => optionsOf(args, /^(?:-\d+|-n-?\d+|--adjustment=-?\d+)$/, /^-n$/),
  nohup: (args) => optionsOf(args, /^$/),
  stdbuf: (args) => optionsOf(args, /^(?:-[ioe].+|--(?:input|output|error)=.+)$/, /^-[ioe]$/),
  // With -v or -V it only tells what it would run.
  command: (args) => optionsOf(args, /^-p$/),
  builtin: (args) => optionsOf(args, /^$/),
  // How many words go to a run, and where they are cut. -a reads them from a file, and -I puts them anywhere.
  xargs: (args) =>
    optionsOf(
      args,
      /^(?:-[0rt]+|-[nLP]\d+|-d.+|--null|--no-run-if-empty|--verbose|--max-(?:args|procs)=\d+|--delimiter=.+)$/,
      /^-[nLPd]$/,
    ),
}

/** Skips known options, `--` too; undefined at an option that is not known. `withValue` ones take the next word along. */
function optionsOf(args: readonly string[], known: RegExp, withValue?: RegExp): number | undefined {
  let at = 0
  for (; at < args.length; at += 1) {
    const argument = args[at] ?? ''
    if (argument === '--') return at + 1
    if (!argument.startsWith('-')) return at
    if (withValue?.test(argument) === true) at += 1
    else if (!known.test(argument)) return undefined
  }
  return at
}

const maxWrappers = 10

/** The command as written, and as it is with each wrapper taken off; the innermost one last. */
export const formsOf: (words: Words) => readonly Words[] = memoizeByObject((words) => findForms(words, maxWrappers))

function findForms(words: Words, left: number): readonly Words[] {
  const [name, ...args] = words
  const skip = name?.kind === 'literal' && Object.hasOwn(wrappers, name.value) ? wrappers[name.value] : undefined
  if (skip === undefined || left === 0) return [words]
  const skipped = skip(args.map((word) => word.value))
  if (skipped === undefined || skipped >= args.length) return [words]
  // What is skipped must be known: a variable there could be an option, or the command itself.
  if (args.slice(0, skipped).some((word) => word.kind !== 'literal')) return [words]
  return [words, ...findForms(args.slice(skipped), left - 1)]
}

/** Programs that run what follows somewhere among their arguments. */
const runners: ReadonlySet<string> = new Set([
  ...Object.keys(wrappers),
  ...(
    'sudo doas env exec setsid ionice chrt taskset flock unshare nsenter chroot parallel watch ' +
    'strace ltrace busybox su runuser find fd coproc entr npx jobs'
  ).split(' '),
])

export function runsItsArguments(words: Words): boolean {
  return runners.has(nameOf(words[0]?.value ?? ''))
}

/** Longer ones are not looked through: each word could begin a command. */
export const maxRunnerWords = 200

/**
 * Every command that may run inside this one, as far as names tell; the first is the command itself. Used for deny and
 * ask rules only: there it is right to take too much.
 */
export const possibleCommands: (words: Words) => readonly Words[] = memoizeByObject((words) => {
  if (!runsItsArguments(words)) return [words]
  const isFind = runsOnFound(words)
  return words.slice(0, maxRunnerWords).flatMap((word, index) => {
    const before = words[index - 1]?.value ?? ''
    if (index > 0 && isFind && !/^(?:-(?:exec|ok)|-[a-zA-Z]*[xX]$|--exec)/.test(before)) return []
    // The folder, where no builtin is run.
    if (index > 0 && word.value === '.' && !/^(?:command|builtin|time|coproc|-p|--)$/.test(before)) return []
    return [tailOf(words, index)]
  })
})

/** Programs that run a command for what they find, and only behind an option. */
export function runsOnFound(words: Words): boolean {
  return /^(?:find|fd|fdfind)$/.test(nameOf(words[0]?.value ?? ''))
}

/** The name of a program without the folder in front of it. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
