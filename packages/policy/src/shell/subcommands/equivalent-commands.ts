import { literalWord } from '../read-grammar.ts'
import { memoizeByObject, tailOf } from '../memoize.ts'
import type { ShellWord } from '../words.ts'
import { nameOf, possibleCommands, runsOnFound, runsItsArguments } from '../wrappers.ts'
import { nextOperands } from './operands.ts'
import { familyOf, programName } from './program-names.ts'
import { syntaxOf } from './program-syntax.ts'

type Words = readonly ShellWord[]

/**
 * Every command that may run inside this one, as far as names reveal, each by its usual name: `git-push` is `git push`,
 * `python -m pip` is `pip`. Used for deny and ask rules only.
 */
export const equivalentCommands: (words: Words) => readonly Words[] = memoizeByObject((words) => {
  const isFind = runsOnFound(words)
  const feeder = words.findIndex(({ value }) => feeders.has(nameOf(value)))
  return possibleCommands(words).flatMap((form) => {
    const at = words.length - form.length
    const seen =
      isFind && at > 0
        ? commandOfFinder(form, nameOf(words[0]?.value ?? ''))
        : feeder !== -1 && at > feeder
          ? commandOfFeeder(form, words.slice(feeder))
          : form
    const usual = usualForm(seen)
    return usual === undefined ? [seen] : [seen, usual]
  })
})

/** The command of `find -exec` and `fd -x`: a found path replaces `{}`, which `fd` appends if it is missing. */
function commandOfFinder(form: Words, finder: string): Words {
  const end = form.findIndex(({ value }) => value === ';' || value === '+')
  const found = (end === -1 ? form : form.slice(0, end)).map((word, at) =>
    at > 0 && word.value.includes('{}') ? { ...word, ...foundPath } : word,
  )
  return finder === 'find' || found.some(({ value }) => value === '{}')
    ? found
    : [...found, { source: '', ...foundPath }]
}

/** A found path does not begin with a dash. */
const foundPath = { value: '{}', kind: 'dynamic', isOne: true } as const

/** The command of a program that passes on words: after `:::` they are named in the command line. */
function commandOfFeeder(form: Words, feeder: Words): Words {
  const listAt = form.findIndex(({ value }) => value.startsWith(':::'))
  return [...withPlaceholders(listAt === -1 ? form : form.slice(0, listAt), feeder), unseenRest]
}

/** Programs that pass on words that they read. */
const feeders: ReadonlySet<string> = new Set(['xargs', 'parallel'])

const unseenRest: ShellWord = { source: '', value: '', kind: 'dynamic' }

/** `xargs -I X git X`: the replacement of X is only known at run time. */
function withPlaceholders(form: Words, feeder: Words): Words {
  const marks = placeholdersOf(feeder)
  return form.map((word, index) =>
    index > 0 && marks.some((mark) => word.value.includes(mark))
      ? { ...word, value: '', kind: 'dynamic', isOne: true }
      : word,
  )
}

function placeholdersOf([, ...args]: Words): readonly string[] {
  const values = args.map(({ value }) => value)
  const named = values.flatMap((value, at) => {
    const attached = /^(?:-[A-Za-z0-9]*?[IJi]|--replace=?)(.*)$/s.exec(value)?.[1]
    return attached === undefined ? [] : [attached === '' ? (values[at + 1] ?? '') : attached]
  })
  return ['{}', ...named.filter((mark) => mark !== '')]
}

/** The same command by its usual name and form; undefined if it already has that form. */
export const usualForm: (words: Words) => Words | undefined = memoizeByObject(findUsualForm)

function findUsualForm(words: Words): Words | undefined {
  const [name, ...args] = words
  if (name === undefined) return undefined
  const plain = programName(name.value)
  const [, program, subcommand] = /^(git|cargo|kubectl|docker|helm)-(.+)$/.exec(plain) ?? []
  if (program !== undefined && subcommand !== undefined) return [literalWord(program), literalWord(subcommand), ...args]
  if (plain === 'yarn' && args[0]?.value === 'workspace') return [name, ...args.slice(2)]
  if (plain === 'yarn' && args[0]?.value === 'workspaces')
    return [name, ...args.slice(args[1]?.value === 'foreach' ? 2 : 1)]
  const eachRepository = familyOf(plain) === 'git' ? args.findIndex(({ value }) => value === 'for-each-repo') : -1
  if (eachRepository !== -1) return [name, ...args.slice(eachRepository + 1)]
  if (familyOf(plain) !== 'python' && plain !== 'py') return undefined
  const at = args.findIndex(({ value }) => /^-[A-Za-z]*m/.test(value))
  const [, attached = ''] = /^-[A-Za-z]*?m(.*)$/s.exec(args[at]?.value ?? '') ?? []
  const isBefore = args
    .slice(0, Math.max(at, 0))
    .every(({ value }, index) => value.startsWith('-') || /^-[WX]$/.test(args[index - 1]?.value ?? ''))
  if (at === -1 || !isBefore) return undefined
  const rest = args.slice(at + 1)
  if (attached !== '') return [literalWord(attached), ...rest]
  return rest.length === 0 ? undefined : rest
}

/** Runners that take one operand before the command. */
export const argumentFirst: ReadonlySet<string> = new Set(['timeout', 'flock', 'chrt', 'taskset', 'chroot', 'entr'])

/** Whether a command runs another one whose program is only known at run time: `sudo $X`, `xargs env`. */
export const runsUnknown: (words: Words) => boolean = memoizeByObject((words) =>
  equivalentCommands(words).some(hasUnknownCommand),
)

const hasUnknownCommand: (form: Words) => boolean = memoizeByObject((form) => {
  // `python -m $X`.
  if (familyOf(programName(form[0]?.value ?? '')) === 'python' && usualForm(form)?.[0]?.kind === 'dynamic') return true
  if (!runsItsArguments(form)) return false
  const name = nameOf(form[0]?.value ?? '')
  if (runsOnFound(form))
    return form.some(({ kind, isOne, isPipe }) => kind === 'dynamic' && isOne !== true && isPipe !== true)
  const first = firstOperands(form)
  const after = first.flatMap((word) => firstOperands(tailOf(form, form.indexOf(word))))
  const marks = feeders.has(name) ? placeholdersOf(form) : []
  return [...first, ...(argumentFirst.has(name) ? after : [])].some(
    ({ kind, source, value }) => (kind === 'dynamic' && !/^[A-Za-z_]\w*=/.test(source)) || marks.includes(value),
  )
})

/** The words that may be the first subcommand of a program. */
export const firstOperands: (words: Words) => readonly ShellWord[] = memoizeByObject((words) => {
  const syntax = syntaxOf(familyOf(programName(words[0]?.value ?? '')))
  const { operands } = nextOperands(words, new Map([[1, 2]]), syntax)
  return [...operands.keys()].flatMap((at) => words[at] ?? [])
})

/** Reads a text as the words of a command, without quotes. For texts that may be commands, such as those inside scripts. */
export function wordsOfText(text: string): Words {
  return text
    .replaceAll(/["'\\]/g, '')
    .split(/\s+/)
    .filter(Boolean)
    .map(literalWord)
}
