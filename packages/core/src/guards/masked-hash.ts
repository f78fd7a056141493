import { hashText } from '../hash.ts'

// Outputs of tools are compared without what changes by itself: numbers, times, hashes and temporary paths (spec R-PROG-5). One pass over the text,
// without regular expressions and without a second text: outputs may be large.

/** Characters of a text that are masked; what is behind them is compared exactly. */
const mostMasked = 32_768

/** What a character is, as bits: those of a word are together in `inWord`. */
const letter = 1
const hexLetter = 2
const digit = 4
const blankKind = 8
const joiner = 16
const slash = 32
const unseen = 64
const tab = 128
const inWord = 7

const kindOfAscii: Uint8Array = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit)
  if (/[a-fA-F]/.test(character)) return hexLetter
  if (/[a-zA-Z]/.test(character)) return letter
  if (/\d/.test(character)) return digit
  if (character === ' ') return blankKind
  if (character === '\t') return tab
  // Between two masked words they are part of one: 12:30:05.1, 1,000, 2026-01-31, the parts of a UUID.
  if (/[.,:+-]/.test(character)) return joiner
  if (/[/\\]/.test(character)) return slash
  return character === '\u001B' || character === '\r' ? unseen : 0
})

function kindOf(unit: number): number {
  return unit < 128 ? (kindOfAscii[unit] ?? 0) : letter
}

const dash = 45
/** Fewest letters of a hash without a digit, and of such a part of a UUID. */
const fewestOfHash = 8
const fewestOfPart = 4

/**
 * A hash of a text, chained through `link`: a whole number of 32 bits. Numbers, times and durations, words with a digit, hashes and paths below folders for
 * temporary files are all the same in it, blanks count once, and escape sequences of terminals not at all.
 */
export function maskedHash(text: string, link = 0): number {
  const end = Math.min(text.length, mostMasked)
  const kinds = kindOfAscii
  let hash = 0x41c6ce57 ^ link
  // The word so far: its hash, what is in it, and where it began.
  let word = 0
  let flags = 0
  let begins = 0
  let isPlain = true
  rest.begin()
  // The numbers are those of the kinds above: the engine does not fold the constants of a module, which makes this loop twice as slow.
  for (let at = 0; at < end; at++) {
    const unit = text.charCodeAt(at)
    const kind = unit < 128 ? (kinds[unit] ?? 0) : 1
    if ((kind & 7) !== 0) {
      word = Math.imul(word ^ unit, 0x9e3779b1)
      flags |= kind
      continue
    }
    if (isPlain && kind < 32 && (flags & 5) === 1) {
      // By far the most: a word that counts as it is, and what separates it from the next.
      hash = withUnit(withUnit(hash, word), unit)
    } else {
      if (flags !== 0) hash = rest.afterWord(hash, text, begins, at, flags, word)
      hash = rest.afterSeparator(hash, text, at, end, kind)
      at = rest.at
      isPlain = rest.isPlain
    }
    word = 0
    flags = 0
    begins = at + 1
  }
  if (flags !== 0) hash = rest.afterWord(hash, text, begins, end, flags, word)
  hash = rest.atEnd(hash)
  return end < text.length ? hashText(text.slice(end), hash) >>> 0 : (hash ^ (hash >>> 16)) >>> 0
}

/**
 * What is rare in a text, apart from what is not: the loop above is as quick as it is short. One object does, since nothing is awaited in between. The mark of
 * what is masked is 0x10000, the code of no character.
 */
class Rest {
  /** Where the separator ends that was read last. */
  at = 0
  /** Nothing masked was before. */
  isPlain = true
  /** Behind a mark: the character after it, which may belong to it and counts once it does not; 0 for none. */
  pending = 0
  isDuration = false

  begin(): void {
    this.isPlain = true
    this.pending = 0
    this.isDuration = false
  }

  /** The hash with a word. */
  afterWord(before: number, text: string, begins: number, at: number, flags: number, word: number): number {
    let hash = before
    const isMasked = (flags & 4) !== 0 || isHash(flags, at - begins, this.pending)
    const isUnit = !isMasked && this.pending === 32 && isUnitOfTime(text, begins, at)
    const isJoined = isUnit || (isMasked && !this.isPlain && (this.pending !== 32 || this.isDuration))
    if (!isJoined) hash = withUnit(this.withPending(hash), isMasked ? 0x10000 : word)
    this.isPlain = !isMasked && !isUnit
    // Digits alone have no unit: most masked words are such.
    this.isDuration = isUnit || (isMasked && flags !== 4 && isDurationWord(text, begins, at))
    this.pending = 0
    return hash
  }

  /** The hash with what separates words. */
  afterSeparator(hash: number, text: string, at: number, end: number, kind: number): number {
    const unit = text.charCodeAt(at)
    this.at = at
    if (kind === 64) {
      if (unit === 27) this.at = behindEscape(text, at, end) - 1
      return hash
    }
    const isBlank = (kind & 136) !== 0
    if (isBlank && at > 0 && isBlankAt(text, at - 1)) return hash
    if (!this.isPlain && this.pending === 0 && (isBlank || kind === 16)) {
      this.pending = isBlank ? 32 : unit
      return hash
    }
    const before = this.withPending(hash)
    const behind = kind === 32 ? behindTemporary(text, at, end) : at + 1
    this.isPlain = behind === at + 1
    this.isDuration = false
    this.pending = 0
    this.at = behind - 1
    return withUnit(before, this.isPlain ? (isBlank ? 32 : unit) : 0x10000)
  }

  /** The hash once nothing follows. */
  atEnd(hash: number): number {
    return this.withPending(hash)
  }

  withPending(hash: number): number {
    return this.pending === 0 ? hash : withUnit(hash, this.pending)
  }
}

const rest = new Rest()

function isBlankAt(text: string, at: number): boolean {
  return (kindOf(text.charCodeAt(at)) & (blankKind | tab)) !== 0
}

function withUnit(hash: number, unit: number): number {
  return Math.imul(hash ^ (hash >>> 15) ^ unit, 0x9e3779b1)
}

/** A hash that happens to have no digit, or the part of one. */
function isHash(flags: number, length: number, pending: number): boolean {
  return flags === hexLetter && length >= (pending === dash ? fewestOfPart : fewestOfHash)
}

/** Digits with the unit of a time behind them, such as `30s`. */
function isDurationWord(text: string, begins: number, behind: number): boolean {
  const letters = behindDigits(text, begins, behind)
  return letters > begins && isUnitOfTime(text, letters, behind)
}

function behindDigits(text: string, begins: number, behind: number): number {
  let at = begins
  while (at < behind && kindOf(text.charCodeAt(at)) === digit) at++
  return at
}

/** Letters of a short word as a number, in base 32; upper and lower case are the same. */
function codeOf(text: string, begins: number, behind: number): number {
  let code = 0
  for (let at = begins; at < behind; at++) code = code * 32 + (text.charCodeAt(at) & 31)
  return code
}

const longestUnit = 7
const unitsOfTime: ReadonlySet<number> = new Set(
  [
    'ns',
    'us',
    'ms',
    's',
    'sec',
    'secs',
    'second',
    'seconds',
    'm',
    'min',
    'mins',
    'minute',
    'minutes',
    'h',
    'hr',
    'hrs',
    'hour',
    'hours',
    'd',
    'day',
    'days',
  ].map((unit) => codeOf(unit, 0, unit.length)),
)

function isUnitOfTime(text: string, begins: number, behind: number): boolean {
  const length = behind - begins
  return length > 0 && length <= longestUnit && unitsOfTime.has(codeOf(text, begins, behind))
}

const temporary: readonly string[] = [
  '/tmp/',
  '/var/tmp/',
  '/var/folders/',
  '/private/tmp/',
  '/private/var/tmp/',
  '/private/var/folders/',
  '/dev/shm/',
]
const temporaryOfWindows: readonly string[] = ['\\Temp\\', '\\temp\\', '\\TEMP\\', '\\\\Temp\\\\', '/Temp/']

/** The end of a path below a folder for temporary files that begins here; that of the one character where none does. */
function behindTemporary(text: string, begins: number, end: number): number {
  // The next character alone says no of nearly every path: t, v, p, d in lower case, or another backslash.
  const next = text.charCodeAt(begins + 1) | 32
  if (next !== 116 && next !== 118 && next !== 112 && next !== 100 && next !== 124) return begins + 1
  const isPathBefore = begins > 0 && isOfPath(text.charCodeAt(begins - 1))
  const folders = isPathBefore ? temporaryOfWindows : temporary
  for (const folder of folders) {
    if (!text.startsWith(folder, begins)) continue
    let at = begins + folder.length
    while (at < end && isOfPath(text.charCodeAt(at))) at++
    return at
  }
  return begins + 1
}

/** Letters, digits and what else names of files usually have; no colon, which is before the number of a line. */
function isOfPath(unit: number): boolean {
  return (kindOf(unit) & (inWord | slash)) !== 0 || unit === 46 || unit === dash || unit === 95 || unit === 126
}

/** The end of an escape sequence: colours and cursors end with a letter, titles with a bell or another escape. */
function behindEscape(text: string, begins: number, end: number): number {
  const next = text.charCodeAt(begins + 1)
  if (next !== 91 && next !== 93) return Math.min(end, begins + 2)
  for (let at = begins + 2; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (next === 91 ? unit >= 64 && unit <= 126 : unit === 7) return at + 1
    if (unit === 27) return next === 93 && text.charCodeAt(at + 1) === 92 ? at + 2 : at
    // One that never ends hides nothing.
    if (unit === 10) return at
  }
  return end
}
