import type { ToolResultBlock, ToolUseBlock } from '../model/messages.ts'

/** Longest cycle of turns that is looked for. */
const longestCycle = 8
/** How often the same turns may be repeated unless said otherwise. */
export const defaultRepeats = 5
/** After how many repeats the model is reminded unless said otherwise. */
export const defaultRemindAt = 3
/** Most turns that are remembered: those that the longest cycle fills. */
const rememberedTurns: number = longestCycle * defaultRepeats
/** Turns that a cycle with waits in it must fill. */
const turnsWithWaits = 25

/**
 * A turn waits when one of its tools works for so long: `sleep 30` before the next look, or tests that take their time. It is 5 seconds, of which timers of
 * hosts may leave out a little.
 */
export const waitMs = 4_990

/** The newest turns as a cycle that comes again and again. */
export interface Cycle {
  /** Turns of one round. */
  readonly length: number
  /** Rounds in a row. */
  readonly repeats: number
  /** As many rounds as are one too many. */
  readonly limit: number
}

/**
 * One turn as it is remembered: a hash of names, inputs and outputs in call order, without ids and without what is masked in outputs; below zero where the
 * turn waited.
 */
export function turnHash(
  calls: readonly ToolUseBlock[],
  results: readonly ToolResultBlock[],
  hasWaited: boolean,
): number {
  let hash = 0
  for (const [index, call] of calls.entries()) {
    hash = exactHash(call.name, hash)
    hash = exactHash(JSON.stringify(call.input) ?? '', hash)
    hash = outputHash(results[index]?.content ?? '', hash)
  }
  // As many bits as tell a few turns apart: they are in each record of a lap.
  hash >>>= 0
  return hasWaited ? -1 - hash : hash
}

function outputHash(content: ToolResultBlock['content'], link: number): number {
  if (typeof content === 'string') return textHash(content, link)
  let hash = link
  for (const block of content)
    hash = block.type === 'text' ? textHash(block.text, hash) : exactHash(JSON.stringify(block), hash)
  return hash
}

/** Characters of the longest text that is looked at for having no word. */
const longestFigure = 64

// Spec R-PROG-5a.
/** Where a result is nothing but figures, such as `42 %`, these are what was asked for: another one is progress. */
function textHash(text: string, link: number): number {
  const isFigure = text.length <= longestFigure && !/\p{L}/u.test(text)
  return isFigure ? exactHash(text, link) : maskedHash(text, link)
}

// Spec R-PROG-6.
/** The recent turns with a new one at their end: as many as can be part of a cycle, those of the longest cycle at least. */
export function withNewest(turns: readonly number[], newest: number): readonly number[] {
  const all = [...turns, newest]
  let needed = longestCycle
  for (let length = 1; length <= longestCycle; length++) needed = Math.max(needed, length + sameInARow(all, length))
  return all.slice(-Math.min(needed, rememberedTurns))
}

/** The cycle that is nearest to its limit, the shortest of several; undefined where no turn is remembered. `repeats` is the limit without waits. */
export function nearestCycle(turns: readonly number[], repeats: number): Cycle | undefined {
  let nearest: Cycle | undefined
  for (let length = 1; length <= Math.min(longestCycle, turns.length); length++) {
    const inARow = 1 + Math.floor(sameInARow(turns, length) / length)
    // What came once is no cycle, and the newest turn alone says so as well.
    if (length > 1 && (inARow === 1 || isMadeOfShorter(turns, length))) continue
    // Whoever waits between two looks does little harm, and often gets what is waited for.
    const limit = waitsInRound(turns, length) ? Math.max(repeats, Math.floor(turnsWithWaits / length)) : repeats
    const cycle = { length, repeats: inARow, limit }
    if (nearest === undefined || cycle.repeats / limit > nearest.repeats / nearest.limit) nearest = cycle
  }
  return nearest
}

/** Whether one of the newest turns waited. */
function waitsInRound(turns: readonly number[], length: number): boolean {
  for (let index = turns.length - length; index < turns.length; index++) if ((turns[index] ?? 0) < 0) return true
  return false
}

/** The same calls with the same results, whether or not it waited. */
function isSame(turn: number | undefined, other: number | undefined): boolean {
  return whatOf(turn) === whatOf(other)
}

function whatOf(turn: number | undefined): number | undefined {
  return turn !== undefined && turn < 0 ? -1 - turn : turn
}

/** A round of four may be two rounds of two. */
function isMadeOfShorter(turns: readonly number[], round: number): boolean {
  for (let length = 1; length <= round / 2; length++)
    if (round % length === 0 && sameInARow(turns, length) >= round - length) return true
  return false
}

/** How many of the newest turns are, one after another, the same as the one so many turns before. */
function sameInARow(turns: readonly number[], length: number): number {
  let same = 0
  for (let index = turns.length - 1; index >= length && isSame(turns[index], turns[index - length]); index--) same++
  return same
}

// Outputs of tools are compared without what changes by itself: numbers, times, hashes and temporary paths (spec R-PROG-5). Outputs may be large, and
// almost all turns are new ones: the bytes of a text are hashed four at a time between one number and the next.

/** Characters of a text that are masked; what is behind them is compared exactly. */
const mostMasked = 32_768

/** What a byte is, as bits, of which 7 are those of a word. They are written as numbers below: the engine folds no constants of a module. */
const [letter, hexLetter, digit, blank, joiner] = [1, 2, 4, 8, 16]

const kinds: Uint8Array = new Uint8Array(256)
for (const [from, to, kind] of [
  ['A', 'Z', letter],
  ['a', 'z', letter],
  ['A', 'F', hexLetter],
  ['a', 'f', hexLetter],
  ['0', '9', digit],
] as const)
  kinds.fill(kind, from.charCodeAt(0), to.charCodeAt(0) + 1)
for (const character of ' \t') kinds[character.charCodeAt(0)] = blank
// Between two masked words they are part of one: 12:30:05.1, 1,000, 2026-01-31, the parts of a UUID.
for (const character of '.,:+-') kinds[character.charCodeAt(0)] = joiner

const encoder = new TextEncoder()
/** The text as bytes: at most three for each of its units, and room behind them to read four at a time. Nothing else runs while one is hashed. */
const buffer = new ArrayBuffer(mostMasked * 3 + 8)
const bytes: Uint8Array = new Uint8Array(buffer)
const words: Int32Array = new Int32Array(buffer)
const view: DataView = new DataView(buffer)

/**
 * A hash of a text, chained through `link`: a whole number of 32 bits. Numbers, times and durations, words with a digit, hashes and paths below folders for
 * temporary files are all the same in it, blanks beside them count once, and escape sequences of terminals not at all.
 */
export function maskedHash(text: string, link = 0): number {
  const masked = withoutPaths(text.length > mostMasked ? text.slice(0, mostMasked) : text)
  const end = encoder.encodeInto(masked, bytes).written
  // No word goes on behind it.
  bytes[end] = 0
  let hash = 0x41c6ce57 ^ link
  let from = 0
  for (;;) {
    const first = nextDigit(from, end)
    let begins = first
    if (first < end) while (begins > from && ((kinds[bytes[begins - 1] ?? 0] ?? 0) & 7) !== 0) begins--
    let to = begins
    if (first < end) while (to > from && kinds[bytes[to - 1] ?? 0] === 8) to--
    hash = hashOfBytes(from, to, hash)
    if (first === end) break
    hash = Math.imul(hash ^ (to < begins ? 0x52d3a9e7 : 0x1f5a7c31), 0x9e3779b1)
    const behind = behindMasked(begins)
    from = behind
    while (kinds[bytes[from] ?? 0] === 8) from++
    hash ^= from > behind ? (hash >>> 15) + 1 : hash >>> 15
  }
  if (text.length > mostMasked) return exactHash(text.slice(mostMasked), hash)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** A hash of a text, chained through `link`: a whole number of 32 bits. Halves of surrogate pairs without the other half are all the same in it. */
export function exactHash(text: string, link: number): number {
  let hash = link
  for (let at = 0; at < text.length; at += mostMasked) {
    const part = text.length <= mostMasked ? text : text.slice(at, at + mostMasked)
    hash = hashOfBytes(0, encoder.encodeInto(part, bytes).written, hash)
  }
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Where the next digit is; the end where there is none. */
function nextDigit(from: number, end: number): number {
  // Digits are 0x30 to 0x39. Without 0x30 they are below 10, and their highest bit is not set once 0x76 is added. Those before `from` do not count.
  let passed = 0x80808080 & ((1 << ((from & 3) << 3)) - 1)
  for (let word = from >> 2; word << 2 < end; word++) {
    const four = (words[word] ?? 0) ^ 0x30303030
    const digits = ((((four & 0x7f7f7f7f) + 0x76767676) | four | passed) & 0x80808080) ^ 0x80808080
    if (digits !== 0) return Math.min(end, (word << 2) + ((31 - Math.clz32(digits & -digits)) >> 3))
    passed = 0
  }
  return end
}

/** The hash of these bytes behind another one. Two lanes: a multiplication waits for the one before it. */
function hashOfBytes(from: number, to: number, link: number): number {
  let hash = link
  let at = from
  if (to - from >= 32) {
    let other = link
    for (; at + 8 <= to; at += 8) {
      hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1)
      other = Math.imul(other ^ view.getInt32(at + 4, true), 0x85ebca6b)
      hash ^= hash >>> 15
      other ^= other >>> 13
    }
    hash = Math.imul(hash ^ other, 0x9e3779b1)
    hash ^= hash >>> 15
  }
  for (; at + 4 <= to; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  if (at === to) return hash
  const bits = (to - at) << 3
  hash = Math.imul(hash ^ (view.getInt32(at, true) & ((1 << bits) - 1)) ^ (bits << 24), 0x9e3779b1)
  return hash ^ (hash >>> 15)
}

/** The end of what is masked as one, from a word with a digit on. */
function behindMasked(from: number): number {
  let begins = from
  let at = behindWord(begins)
  for (;;) {
    const kind = kinds[bytes[at] ?? 0]
    if (kind === 16) {
      const next = behindMaskedWord(at + 1, bytes[at] === 45)
      if (next < 0) return at
      begins = at + 1
      at = next
    } else if (kind === 8) {
      let next = behindBlanks(at)
      const isUnit = isUnitOfTime(next)
      if (isUnit) {
        at = behindWord(next)
        next = behindBlanks(at)
      }
      // A duration goes on in smaller units: 1 min 30 s.
      const more = next > at ? behindMaskedWord(next, false) : -1
      if (more > 0 && (isUnit || isDuration(begins))) {
        begins = next
        at = more
      } else if (!isUnit || next > at) return at
    } else return at
  }
}

function behindWord(from: number): number {
  let at = from
  while (((kinds[bytes[at] ?? 0] ?? 0) & 7) !== 0) at++
  return at
}

function behindBlanks(from: number): number {
  let at = from
  while (kinds[bytes[at] ?? 0] === 8) at++
  return at
}

/** The end of a word that is masked; -1 for any other. */
function behindMaskedWord(from: number, isPart: boolean): number {
  let at = from
  let flags = 0
  for (let kind = kinds[bytes[at] ?? 0] ?? 0; (kind & 7) !== 0; kind = kinds[bytes[++at] ?? 0] ?? 0) flags |= kind
  if ((flags & 4) !== 0) return at
  return isPart && flags === 2 && at - from >= 4 ? at : -1
}

/** Digits with the unit of a time behind them, such as `30s`. */
function isDuration(from: number): boolean {
  let at = from
  while (kinds[bytes[at] ?? 0] === 4) at++
  return at > from && isUnitOfTime(at)
}

const unitsOfTime: ReadonlySet<number> = new Set(
  'ns,us,ms,s,sec,secs,second,seconds,m,min,mins,minute,minutes,h,hr,hrs,hour,hours,d,day,days'
    .split(',')
    .map((unit) => Array.from(unit).reduce((code, character) => code * 32 + (character.charCodeAt(0) & 31), 0)),
)

const beginsUnit: Uint8Array = new Uint8Array(256)
for (const character of 'numshdNUMSHD') beginsUnit[character.charCodeAt(0)] = 1

/** Whether the word that begins here is one, in upper or lower case: as a number in base 32. */
function isUnitOfTime(from: number): boolean {
  if (beginsUnit[bytes[from] ?? 0] !== 1) return false
  let code = 0
  for (let at = from; at - from <= 7; at++) {
    const kind = kinds[bytes[at] ?? 0] ?? 0
    if ((kind & 7) === 0) return unitsOfTime.has(code)
    if (kind === 4) return false
    code = code * 32 + ((bytes[at] ?? 0) & 31)
  }
  return false
}

const escape = '\u001B'
/** Colours and cursors end with a letter, titles with a bell or another escape. */
const escapes = new RegExp(
  String.raw`\u001B(?:\[[^@-~\n\u001B]*[@-~]?|\][^\u0007\n\u001B]*(?:\u0007|\u001B\\)?|[^[\]])|\r`,
  'g',
)
const paths =
  /(?<![\w./\\~\u0080-\uFFFF-])\/(?:private\/)?(?:(?:var\/)?tmp|var\/folders|dev\/shm)\/[\w./\\~\u0080-\uFFFF-]*/g
const windowsPaths = /(?<=[\w./\\~\u0080-\uFFFF-])(?:\\{1,2}(?:Temp|temp|TEMP)\\|\/Temp\/)[\w./\\~\u0080-\uFFFF-]*/g

/** The text without escape sequences, and with a number in the place of each path below a folder for temporary files. Most texts have neither. */
function withoutPaths(text: string): string {
  let masked = text.includes(escape) || text.includes('\r') ? text.replace(escapes, '') : text
  if (masked.includes('/tmp/') || masked.includes('/var/folders/') || masked.includes('/dev/shm/'))
    masked = masked.replace(paths, '0')
  // It stands behind the name of another folder.
  return masked.includes('\\') || masked.includes('/Temp/') ? masked.replace(windowsPaths, ' 0') : masked
}
