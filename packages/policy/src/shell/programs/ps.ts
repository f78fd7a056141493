import { type Effect, unknownEffect } from '../effects.ts'
import type { ShellWord } from '../words.ts'
import { psShowsEnvironment } from '../shell-texts.ts'

/** Columns for `-o` and `--sort`. */
const columns: ReadonlySet<string> = new Set(
  (
    '%cpu %mem args c cls cmd comm command cputime egid egroup etime etimes euid euser fgid fname gid group lstart lwp ' +
    'majflt minflt ni nice nlwp pcpu pgid pgrp pid pmem policy ppid pri psr rgid rgroup rss rssize rsz rtprio ruid ruser ' +
    's sess sid size spid start start_time stat state stime sz thcount tid time tname tt tty ucmd ucomm uid uname user ' +
    'vsize vsz wchan'
  ).split(' '),
)
const withoutValue: ReadonlySet<string> = new Set(['forest', 'headers', 'no-headers', 'no-heading', 'deselect'])
const processIds = /^\d{1,7}(?:,\d{1,7})*$/
const name = /^[\w.-]{1,15}$/
/** Process ids by which bash names itself. */
const ownIds: ReadonlySet<string> = new Set(['$$', '"$$"', '$PPID', '"$PPID"'])
/** Variables that change how ps parses its arguments. */
const variables = ['PS_PERSONALITY', 'CMD_ENV', 'PS_FORMAT', 'I_WANT_A_BROKEN_PS']
/** Whether `-e` selects processes; on other systems it prints the environment. */
const knowsDashE = process.platform === 'linux' || process.platform === 'darwin'

interface Line {
  /** Letters of words with a dash, without those that take a value. */
  letters: string
  /** Words without a dash. */
  readonly bare: string[]
  /** Values of `-u`: an unknown user name is an error. */
  readonly users: string[]
  readonly commands: string[]
  hasColumns: boolean
  hasForest: boolean
}

/**
 * The letter `e` without a dash prints the environment of processes, which contains the keys of this program. If ps cannot parse its arguments, it
 * parses them again as if no word had a dash: `-auxe` and `-e -x` print it too.
 */
export function psEffects(args: readonly ShellWord[]): readonly Effect[] {
  const line: Line = { letters: '', bare: [], users: [], commands: [], hasColumns: false, hasForest: false }
  const isKnown = variables.every((variable) => process.env[variable] === undefined) && readLine(args, line)
  return isKnown && isSilent(line) ? [] : unknownEffect(psShowsEnvironment)
}

function readLine(args: readonly ShellWord[], line: Line): boolean {
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]
    if (word?.kind !== 'literal') return false
    const [, long, joined] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word.value) ?? []
    const [, letters = '', last, rest = ''] = /^-([AadeFfHjlLNTwxy]*)(?:([oOpqCuU])(.*))?$/s.exec(word.value) ?? []
    if (long !== undefined && joined === undefined && withoutValue.has(long)) line.hasForest ||= long === 'forest'
    else if (long !== undefined || last !== undefined) {
      line.letters += letters
      const isJoined = long === undefined ? rest !== '' : joined !== undefined
      const value = isJoined ? { ...word, value: joined ?? rest } : args[(at += 1)]
      if (value === undefined || !takeValue(line, long ?? last ?? '', value)) return false
    } else if (letters !== '') line.letters += letters
    else if (/^[afjlruwx]*o$/.test(word.value)) {
      line.bare.push(word.value)
      const value = args[(at += 1)]
      if (value === undefined || !takeValue(line, 'o', value)) return false
    } else if (/^(?:[afjlruwxT]+|\d{1,7})$/.test(word.value)) line.bare.push(word.value)
    else return false
  }
  return true
}

function takeValue(line: Line, option: string, { kind, value, source }: ShellWord): boolean {
  switch (option) {
    case 'o':
    case 'format':
      line.hasColumns = true
      return kind === 'literal' && areColumns(value, /^([a-z_%]+)(?::\d{1,3})?$/)
    case 'sort':
      return kind === 'literal' && areColumns(value, /^[+-]?([a-z_%]+)$/)
    case 'p':
    case 'q':
    case 'pid':
    case 'ppid':
    case 'quick-pid':
      return kind === 'literal' ? processIds.test(value) : ownIds.has(source)
    case 'C':
      line.commands.push(value)
      return kind === 'literal' && name.test(value)
    case 'u':
    case 'U':
    case 'user':
    case 'User':
      line.users.push(value)
      return kind === 'literal' && name.test(value)
    default:
      return false
  }
}

/** `pid,comm=NAME`: the text after the equals sign is the header. */
function areColumns(text: string, form: RegExp): boolean {
  return text
    .replace(/=.*$/s, '')
    .split(',')
    .every((part) => columns.has(form.exec(part)?.[1] ?? ''))
}

/** Whether no word contains the letter, or ps parses all words as written. */
function isSilent({ letters, bare, users, commands, hasColumns, hasForest }: Line): boolean {
  if (![letters, ...bare, ...users, ...commands].some((text) => text.includes('e'))) return true
  const isCertain =
    bare.length === 0 &&
    users.length === 0 &&
    /^[AeFfHjlLwy]*$/.test(letters) &&
    !(hasColumns && /[FfjlL]/.test(letters)) &&
    !(letters.includes('L') && (letters.includes('H') || hasForest))
  return isCertain && (knowsDashE || !letters.includes('e'))
}
