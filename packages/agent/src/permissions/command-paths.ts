import { absolutePath } from '../paths.ts'
import type { ShellAnalysis, SimpleCommand } from '../shell/analysis.ts'
import type { ShellWord } from '../shell/words.ts'
import { formsOf } from '../shell/wrappers.ts'

/** Where a command may be running: the shell's directory, and wherever a `cd` in the same line may have led. */
export interface Whereabouts {
  readonly directories: readonly string[]
  /** A `cd` leads somewhere that is not known: relative paths then mean nothing. */
  readonly isUnknown: boolean
}

const mostDirectories = 4

export function whereaboutsOf(analysis: ShellAnalysis, shellDirectory: string): Whereabouts {
  let directories: readonly string[] = [shellDirectory]
  let isUnknown = false
  for (const command of analysis.commands) {
    const [name, ...args] = innermost(command)
    if (name === undefined || !movers.has(name.value)) continue
    const targets = args.filter((word) => word.value !== '--' && word.value !== '-P' && word.value !== '-L')
    const [target] = targets
    const isKnown =
      name.value === 'cd' && targets.length === 1 && target?.kind === 'literal' && !target.value.startsWith('-')
    if (!isKnown || directories.length * 2 > mostDirectories) isUnknown = true
    else directories = [...new Set([...directories, ...directories.map((from) => absolutePath(target.value, from))])]
  }
  return { directories, isUnknown }
}

const movers: ReadonlySet<string> = new Set(['cd', 'pushd', 'popd'])

export function innermost(command: SimpleCommand): readonly ShellWord[] {
  return formsOf(command.words).at(-1) ?? []
}

/** Every place that a word may mean as a path; undefined when that is known only when it runs. */
export function placesOf(word: ShellWord, whereabouts: Whereabouts): readonly string[] | undefined {
  if (word.kind === 'dynamic') return undefined
  const path = word.kind === 'glob' ? stemOfGlob(word.value) : word.value
  if (path === undefined) return undefined
  if (/^(?:\/|~(?:\/|$))/.test(path)) return [absolutePath(path, '/')]
  return whereabouts.isUnknown ? undefined : whereabouts.directories.map((from) => absolutePath(path, from))
}

/** The folder that all names fitting a glob are in; undefined when the glob could climb out of it. */
function stemOfGlob(glob: string): string | undefined {
  const segments = glob.split('/')
  const first = segments.findIndex((segment) => /[*?[\]()+@!]/.test(segment))
  if (segments.slice(first).includes('..')) return undefined
  const stem = segments.slice(0, first).join('/')
  return stem === '' ? (glob.startsWith('/') ? '/' : '.') : stem
}

/** Read-only commands whose arguments are no paths to read. */
const pathless: ReadonlySet<string> = new Set(
  'echo printf pwd true false : whoami uname which type command basename dirname test ['.split(' '),
)

/** The words of a read-only command that may be paths it reads. */
export function pathWords(command: SimpleCommand): readonly ShellWord[] {
  const [name, ...args] = innermost(command)
  if (name === undefined || pathless.has(name.value)) return []
  if (name.value === 'cd' && args.length === 0) return [literal('~')]
  const words = args.flatMap((word): readonly ShellWord[] => {
    if (word.kind !== 'literal' || !word.value.startsWith('-') || word.value === '-') return [word]
    return name.value === 'cd' ? [{ ...word, kind: 'dynamic' }] : optionValue(word)
  })
  if (name.value === 'git') return [...words, ...words.flatMap(pathInRevision)]
  if (name.value !== 'grep' || args.some(({ value }) => /^(?:-[A-Za-z]*[ef]|--(?:regexp|file))/.test(value)))
    return words
  // The pattern is no path.
  const pattern = args.find(({ value }) => !value.startsWith('-'))
  return words.filter((word) => word !== pattern)
}

/** `--file=/etc/passwd`, `-f/etc/passwd`. */
function optionValue({ value }: ShellWord): readonly ShellWord[] {
  const found = /^(?:--[^=]+=|-[A-Za-z])(.*\/.*|\.\.|~)$/s.exec(value)?.[1]
  return found === undefined ? [] : [literal(found)]
}

/** `HEAD:path`. */
function pathInRevision({ value, kind }: ShellWord): readonly ShellWord[] {
  const path = /^[^:]*:(.+)$/s.exec(value)?.[1]
  return path === undefined ? [] : [{ source: path, value: path, kind }]
}

function literal(value: string): ShellWord {
  return { source: value, value, kind: 'literal' }
}

/** Commands that change the files that they name. */
export const fileChangers: ReadonlySet<string> = new Set(
  'rm rmdir mv cp tee touch truncate sed chmod chown ln install mkdir unlink shred dd rsync patch'.split(' '),
)
