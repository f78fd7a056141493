import { matchesWildcard } from '@halting/core/adapters'
import {
  higher,
  isWord,
  lower,
  mayBeOption,
  nextOperands,
  type Places,
  type Sureness,
} from '../shell/subcommands/operands.ts'
import { sameOptions } from '../shell/subcommands/option-synonyms.ts'
import { type ProgramSyntax, syntaxOf } from '../shell/subcommands/program-syntax.ts'
import { familyOf, programName } from '../shell/subcommands/program-names.ts'
import { isExactSubcommand, phrasingsOf, resourceOf } from '../shell/subcommands/synonyms.ts'
import { memoizeByObject } from '../shell/memoize.ts'
import type { ShellWord } from '../shell/words.ts'

/** Whether a deny or ask rule applies to a command; `maybe` if that is only known at run time. */
export type Match = 'yes' | 'maybe' | 'no'

/** One reading of a rule's pattern: program, subcommands, options in any position, and the rest as text. */
interface PatternForm {
  /** As it is written. */
  readonly program: string
  readonly family: string
  /** Operands in order, up to the first wildcard. */
  readonly lead: readonly string[]
  readonly options: readonly WantedOption[]
  /** What follows the leading operands; undefined if nothing may follow. */
  readonly tail: string | undefined
}

interface WantedOption {
  readonly name: string
  readonly value?: string
}

const maxPatternLength = 400

// Spec R-RULE-1f.
/**
 * Matches the pattern of a deny or ask rule against what a command does. Options before, between or after subcommands, and aliases of subcommands,
 * make no difference. Never used for allow rules, as it matches more than the pattern says.
 */
export function matchCommand(pattern: string, words: readonly ShellWord[]): Match {
  const known = matches(words)
  const before = known.get(pattern)
  if (before !== undefined) return before
  if (known.size >= maxPatterns) known.clear()
  const found = findMatch(pattern, words)
  known.set(pattern, found)
  return found
}

const matches = memoizeByObject((_words: readonly ShellWord[]) => new Map<string, Match>())
const maxPatterns = 200

function findMatch(pattern: string, words: readonly ShellWord[]): Match {
  const [name] = words
  if (name === undefined) return 'no'
  const plain = programName(name.value)
  const family = familyOf(plain)
  let found: Sureness = 0
  for (const form of formsOf(pattern)) {
    if (found === 2) break
    if (isSameProgram(form, name.value, plain, family))
      found = higher(found, matchForm(form, words.slice(0, maxPatternLength), family))
  }
  return found === 2 ? 'yes' : found === 1 ? 'maybe' : 'no'
}

/** Whether the pattern applies to a program, or to a part of what the program does. */
export function isAboutProgram(pattern: string, name: string): boolean {
  const family = familyOf(programName(name))
  return formsOf(pattern).some((form) => form.family === family)
}

/** Whether the pattern applies to subcommands of a program and not to the whole program. */
export function isAboutSubcommands(pattern: string, family: string): boolean {
  return formsOf(pattern).some((form) => form.family === family && form.lead.length > 0)
}

function isSameProgram(form: PatternForm, written: string, plain: string, family: string): boolean {
  // `./test` is not `test`; `deploy.sh` is found through `PATH`.
  const isRelative = form.program.includes('/') && !form.program.startsWith('/')
  if (isRelative && !written.includes('/') && !plain.includes('.')) return false
  // A rule for a whole program applies to this program only; a rule for a subcommand applies to all programs that do the same.
  if (form.lead.length === 0 && form.options.length === 0) {
    const name = programName(form.program)
    return name === plain || (plain.startsWith(`${name}.`) && /^\.[\d.]+$/.test(plain.slice(name.length)))
  }
  return form.family === family
}

const maxKnown = 500
const parsedPatterns = new Map<string, readonly PatternForm[]>()

function formsOf(pattern: string): readonly PatternForm[] {
  const before = parsedPatterns.get(pattern)
  if (before !== undefined) return before
  if (parsedPatterns.size >= maxKnown) parsedPatterns.clear()
  const forms = compile(pattern)
  parsedPatterns.set(pattern, forms)
  return forms
}

function compile(pattern: string): readonly PatternForm[] {
  const plain = pattern.endsWith(':*') ? `${pattern.slice(0, -2)} *` : pattern
  const [program = '', ...rest] = plain.trim().split(/\s+/)
  if (program === '' || program.includes('*')) return []
  const family = familyOf(programName(program))
  // `push*` also matches `push`: the text before the asterisk.
  const open = /^([\w-]+)\*$/.exec(rest[0] ?? '')?.[1]
  const written = open === undefined ? [rest] : [rest, [open, '*']]
  return written.flatMap((tokens) =>
    phrasingsOf([family, ...tokens]).flatMap(([name = '', ...words]) =>
      readings(words).map((reading) => ({
        ...reading,
        program: name === family ? program : name,
        family: familyOf(name),
      })),
    ),
  )
}

const maxOptions = 4
const optionToken = /^(\*?)(--?[A-Za-z0-9][\w-]*)(?:=([^*]+))?(\*?)$/

/** An option in a rule may take the next word as its value: both readings count. */
function readings(tokens: readonly string[]): readonly Pick<PatternForm, 'lead' | 'options' | 'tail'>[] {
  let open: readonly { readonly operands: readonly string[]; readonly options: readonly WantedOption[] }[] = [
    { operands: [], options: [] },
  ]
  const mayTake = new Set<number>()
  for (const [at, token] of tokens.entries()) {
    const [, before, name, value, after] = optionToken.exec(token) ?? []
    const isOption = name !== undefined && open.every(({ options }) => options.length < maxOptions)
    if (isOption) {
      const wild = before === '*' || after === '*' ? ['*'] : []
      open = open.map(({ operands, options }) => ({
        operands: [...operands, ...wild],
        options: [...options, { name, ...(value !== undefined && { value }) }],
      }))
      if (value === undefined && wild.length === 0) mayTake.add(at)
      continue
    }
    const asOperand = open.map(({ operands, options }) => ({ operands: [...operands, token], options }))
    const asValue = mayTake.has(at - 1) && !token.includes('*') ? open.map((reading) => withValue(reading, token)) : []
    open = [...asOperand, ...asValue]
  }
  return open.map(({ operands, options }) => {
    const first = operands.findIndex((token) => token.includes('*'))
    const tail =
      first === -1
        ? undefined
        : operands
            .slice(first)
            .join(' ')
            .replaceAll(/\*(?: \*)+/g, '*')
    return { lead: first === -1 ? operands : operands.slice(0, first), options, tail }
  })
}

function withValue<T extends Pick<PatternForm, 'options'>>(reading: T, value: string): T {
  const last = reading.options.at(-1)
  return last === undefined ? reading : { ...reading, options: [...reading.options.slice(0, -1), { ...last, value }] }
}

/** The positions in a command after the subcommands of the form. */
function matchForm(form: PatternForm, words: readonly ShellWord[], family: string): Sureness {
  const syntax = syntaxOf(family)
  let found: Sureness = 2
  const subcommand = form.lead[0]
  for (const option of form.options) {
    found = lower(found, wantedOption(option, { words: words.slice(1), family, subcommand, syntax }))
    if (found === 0) return 0
  }
  let places: Places = new Map([[1, 2]])
  for (const [level, token] of form.lead.entries()) {
    places = afterOperand(words, places, token, { syntax, level, family })
    if (places.size === 0) return 0
  }
  return lower(found, restMatches(form, words, places, syntax))
}

interface Level {
  readonly syntax: ProgramSyntax
  readonly level: number
  readonly family: string
}

function afterOperand(words: readonly ShellWord[], from: Places, token: string, at: Level): Places {
  const { syntax, level, family } = at
  const { operands, end } = nextOperands(words, from, syntaxAt(syntax, level), isListAt(syntax, level, token))
  const after = new Map<number, Sureness>()
  const add = (place: number, sureness: Sureness): void => {
    if (sureness > 0) after.set(place, higher(after.get(place) ?? 0, sureness))
  }
  for (const [place, sureness] of operands) {
    const word = words[place]
    if (word === undefined) continue
    const is = lower(
      sureness,
      isWord(word, token, (text) => isSameOperand(token, text, family, level)),
    )
    add(place + 1, is)
    // The word may expand to several words, including the next operands.
    if (is === 1 && word.kind === 'dynamic' && word.isOne !== true) add(place, 1)
  }
  if (level === 0 && syntax.standard === token) add(words.length, end)
  return after
}

const behind = new WeakMap<ProgramSyntax, ProgramSyntax>()

/** After the first subcommand, options may have another meaning. */
function syntaxAt(syntax: ProgramSyntax, level: number): ProgramSyntax {
  if (level === 0 || syntax.isGlobal === true) return syntax
  const made = behind.get(syntax) ?? { ...syntax, options: '' }
  behind.set(syntax, made)
  return made
}

/** In the grammar of every program, paths form a list. */
function isListAt({ listFrom }: ProgramSyntax, level: number, wanted: string): boolean {
  return (listFrom !== undefined && level >= listFrom) || /^[/~.]/.test(wanted)
}

function isSameOperand(token: string, word: string, family: string, level: number): boolean {
  if (token.toLowerCase() === word.toLowerCase()) return true
  if (family === 'kubectl' || family === 'oc') return level > 0 && resourceOf(word) === resourceOf(token)
  const { abbreviates } = syntaxOf(family)
  if (abbreviates === 'words' || (abbreviates === 'prefix' && level === 0)) return isBeginning(word, token, family)
  if (abbreviates === 'camel') return isCamelBeginning(word.slice(word.lastIndexOf(':') + 1), token)
  return false
}

/** npm also accepts `unPublish` for `un-publish`. */
function isBeginning(word: string, token: string, family: string): boolean {
  const plain = word.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return /^[a-z][\w-]*$/.test(plain) && token.startsWith(plain) && !isExactSubcommand(family, plain)
}

/** `pTML` and `publToMav` are `publishToMavenLocal`. */
function isCamelBeginning(word: string, token: string): boolean {
  if (!/^[A-Za-z][\w-]*$/.test(word)) return false
  const parts = (text: string): readonly string[] => text.match(/^[a-z0-9_-]+|[A-Z][a-z0-9_-]*/g) ?? []
  const [given, whole] = [parts(word), parts(token)]
  return given.length <= whole.length && given.every((part, at) => whole[at]?.startsWith(part) === true)
}

/** Whether the words after the subcommands match the rest of the pattern. */
function restMatches(
  { tail, lead, options }: PatternForm,
  words: readonly ShellWord[],
  places: Places,
  syntax: ProgramSyntax,
): Sureness {
  if (tail === '*') return highest(places)
  let found: Sureness = 0
  const last = lead.at(-1)
  // `rm -rf /` also applies if other paths are removed in the same command.
  const isOneOfList = last !== undefined && isListAt(syntax, lead.length - 1, last)
  if (tail === undefined && isOneOfList) return highest(places)
  if (tail === undefined) {
    for (const [place, sureness] of places) {
      // After a program name alone, options count as text; otherwise they do not change the command.
      const isPlain = lead.length === 0 && options.length === 0
      const rest = words
        .slice(place)
        .filter(({ value, kind }) => isPlain || kind !== 'literal' || !isOptionText(value, options))
      if (rest.length === 0) found = higher(found, sureness)
      else if (rest.every(({ kind, isOne }) => kind === 'dynamic' && isOne !== true)) found = higher(found, 1)
    }
    return found
  }
  const { operands } = nextOperands(words, places, syntaxAt(syntax, lead.length), isListAt(syntax, lead.length, tail))
  const starts = new Map(places)
  for (const [place, sureness] of operands) starts.set(place, higher(starts.get(place) ?? 0, sureness))
  for (const [place, sureness] of [...starts].slice(0, 100)) {
    const rest = words.slice(place)
    const text = rest.map(({ value }) => value).join(' ')
    const isMatch = matchesWildcard(tail, text) || (tail.endsWith(' *') && matchesWildcard(tail.slice(0, -2), text))
    if (isMatch) found = higher(found, sureness)
    else if (rest.some(({ kind, isPipe }) => kind === 'dynamic' && isPipe !== true)) found = higher(found, 1)
  }
  return found
}

function isOptionText(value: string, options: readonly WantedOption[]): boolean {
  return (value.startsWith('-') && value.length > 1) || options.some((option) => value === option.value)
}

function highest(places: Places): Sureness {
  let found: Sureness = 0
  for (const sureness of places.values()) found = higher(found, sureness)
  return found
}

interface OptionScope {
  readonly words: readonly ShellWord[]
  readonly family: string
  readonly subcommand: string | undefined
  readonly syntax: ProgramSyntax
}

/** Whether the words contain an option: alone, combined with others after one dash, abbreviated, or as a synonym. */
function wantedOption({ name, value }: WantedOption, scope: OptionScope): Sureness {
  const names = sameOptions(scope.family, scope.subcommand, name)
  let found: Sureness = 0
  for (const one of names) found = higher(found, optionNamed(one, value, scope))
  if (found > 0) return found
  const isUnknown = scope.words.some(
    (word, at) => mayBeOption(word, names) && !takesText.test(scope.words[at - 1]?.value ?? ''),
  )
  return isUnknown ? 1 : 0
}

/** Options whose value is text in nearly every program: an unknown word there is only text. */
const takesText = /^(?:-[A-Za-z]*m|--(?:message|body|title|notes|description|reason|subject|comment))$/

function optionNamed(name: string, value: string | undefined, scope: OptionScope): Sureness {
  const { words, syntax } = scope
  if (name.includes('&'))
    return name.split('&').reduce<Sureness>((least, one) => lower(least, wantedOption({ name: one }, scope)), 2)
  if (/^[+:]\*$/.test(name))
    return words.some((word) => word.kind !== 'glob' && word.value.startsWith(name.charAt(0))) ? 2 : 0
  const [plain = '', own = value] = name.split('=', 2)
  if (own !== undefined) return optionWithValue(plain, own, scope)
  if (words.some((word) => isOptionWord(word, plain, syntax))) return 2
  // `-rf` is `-r -f`.
  const letters = /^-([A-Za-z]{2,4})$/.exec(plain)?.[1]
  if (letters === undefined || syntax.singleDash === true) return 0
  return letters
    .split('')
    .reduce<Sureness>((least, letter) => lower(least, wantedOption({ name: `-${letter}` }, scope)), 2)
}

/** Many programs accept the beginning of a long option, unless it is an option itself. */
function isAbbreviation(written: string, name: string, isExact: boolean): boolean {
  return !isExact && written.length > 2 && name.startsWith(written) && !unabbreviated.has(written)
}

/** Options that are also the beginning of longer ones. */
const unabbreviated: ReadonlySet<string> = new Set(
  '--all --config --data --env --exec --file --force --git --host --name --output --save --user --version'.split(' '),
)

function isOptionWord({ value, kind }: ShellWord, name: string, { singleDash, exactOptions }: ProgramSyntax): boolean {
  if (kind === 'glob' || !value.startsWith('-')) return value === name
  const [written = ''] = value.split('=', 1)
  if (written === name) return true
  if (singleDash === true) return written.replace(/^-+/, '') === name.replace(/^-+/, '')
  if (name.startsWith('--')) return isAbbreviation(written, name, exactOptions === true)
  // A letter among others, or with its value attached.
  const [, letters = ''] = /^-([A-Za-z]{1,6})(?![A-Za-z])/.exec(value) ?? []
  return name.length === 2 && (letters.includes(name.charAt(1)) || value.startsWith(name))
}

function optionWithValue(name: string, value: string, { words, syntax }: OptionScope): Sureness {
  let found: Sureness = 0
  for (const [at, word] of words.entries()) {
    const next = words[at + 1]
    const isName =
      word.value === name || (name.startsWith('--') && isAbbreviation(word.value, name, syntax.exactOptions === true))
    if (isName && next !== undefined)
      found = higher(
        found,
        isWord(next, value, (text) => matchesWildcard(value, text)),
      )
    const attached = name.startsWith('--') ? `${name}=` : name
    if (word.value.startsWith(attached)) {
      const given = word.value.slice(attached.length).replace(/^=/, '')
      found = higher(found, word.kind === 'literal' ? (matchesWildcard(value, given) ? 2 : 0) : 1)
    }
  }
  return found
}
