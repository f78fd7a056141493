import { memoizeByObject, tailOf } from './memoize.ts'
import type { ShellWord } from './words.ts'

type Words = readonly ShellWord[]

/** How many words of a wrapper precede the command that it runs; undefined if its words are not understood. */
type Skip = (args: readonly string[]) => number | undefined

// Spec R-RULE-6.
/** Programs that run their arguments as a command and do not change what it may do. */
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
  // With -v or -V it only prints what it would run.
  command: (args) => optionsOf(args, /^-p$/),
  builtin: (args) => optionsOf(args, /^$/),
  // These options set how many words are used per run, and how they are split. Not listed: -a reads words from a file,
  // and -I inserts them anywhere.
  xargs: (args) =>
    optionsOf(
      args,
      /^(?:-[0rt]+|-[nLP]\d+|-d.+|--null|--no-run-if-empty|--verbose|--max-(?:args|procs)=\d+|--delimiter=.+)$/,
      /^-[nLPd]$/,
    ),
}

/** Skips known options, including `--`; undefined at an unknown option. Options in `withValue` take the next word. */
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

/** The command as written, and with each wrapper removed; the innermost one last. */
export const formsOf: (words: Words) => readonly Words[] = memoizeByObject((words) => findForms(words, maxWrappers))

function findForms(words: Words, left: number): readonly Words[] {
  const [name, ...args] = words
  const skip = name?.kind === 'literal' && Object.hasOwn(wrappers, name.value) ? wrappers[name.value] : undefined
  if (skip === undefined || left === 0) return [words]
  const skipped = skip(args.map((word) => word.value))
  if (skipped === undefined || skipped >= args.length) return [words]
  // The skipped words must be known: a variable among them could be an option, or the command itself.
  if (args.slice(0, skipped).some((word) => word.kind !== 'literal')) return [words]
  return [words, ...findForms(args.slice(skipped), left - 1)]
}

/** Programs that run a part of their arguments. */
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

/** Maximum number of words of a runner that are searched: each word could begin a command. */
export const maxRunnerWords = 200

/**
 * Every command that may run inside this one, as far as names reveal; the first is the command itself. Used for deny and
 * ask rules only, where an overestimate is safe.
 */
export const possibleCommands: (words: Words) => readonly Words[] = memoizeByObject((words) => {
  if (!runsItsArguments(words)) return [words]
  const isFind = runsOnFound(words)
  return words.slice(0, maxRunnerWords).flatMap((word, index) => {
    const before = words[index - 1]?.value ?? ''
    if (index > 0 && isFind && !/^(?:-(?:exec|ok)|-[a-zA-Z]*[xX]$|--exec)/.test(before)) return []
    // A lone `.` is the current folder, unless it is the builtin that runs a file.
    if (index > 0 && word.value === '.' && !/^(?:command|builtin|time|coproc|-p|--)$/.test(before)) return []
    return [tailOf(words, index)]
  })
})

/** Whether the program runs a command for each path that it finds, and only after an option. */
export function runsOnFound(words: Words): boolean {
  return /^(?:find|fd|fdfind)$/.test(nameOf(words[0]?.value ?? ''))
}

/** The name of a program without its folder. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
