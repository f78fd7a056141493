import type { ToolResultBlock, ToolUseBlock } from '../model/messages.ts'

/** Length of the longest cycle that is detected. */
const longestCycle = 8
/** Default number of repeats that stops the run. */
export const defaultRepeats = 5
/** Default number of repeats that reminds the model. */
export const defaultRemindAt = 3
/** Maximum number of stored turns: enough for the longest cycle. */
const rememberedTurns: number = longestCycle * defaultRepeats
/** Number of turns that a cycle with waits must span. */
const turnsWithWaits = 25

/**
 * A turn counts as waiting when one of its tools runs at least this long, such as `sleep 30` or a slow test. The
 * threshold is 5 seconds minus the timer error of hosts.
 */
export const waitThresholdMs = 4_990

/** The newest turns as a repeating cycle. */
export interface Cycle {
  /** Turns per round. */
  readonly length: number
  /** Consecutive rounds. */
  readonly repeats: number
  /** Number of rounds at which the limit is reached. */
  readonly limit: number
}

/** The hash of one turn: names, inputs and outputs in call order, without ids and masked parts of outputs. Negative if the turn waited. */
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
  // 32 bits are enough to distinguish a few turns. Every iteration record contains the hash.
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

/** Maximum length of a text that is checked for containing no word. */
const longestFigure = 64

// Spec R-PROG-5a.
/** The hash of an output. If an output consists only of figures, such as `42 %`, the figures are the answer, so a changed figure is progress. */
function textHash(text: string, link: number): number {
  const isFigure = text.length <= longestFigure && !/\p{L}/u.test(text)
  return isFigure ? exactHash(text, link) : maskedHash(text, link)
}

// Spec R-PROG-6.
/** Appends a turn to the recent turns. Retains as many as can be part of a cycle, and at least those of the longest cycle. */
export function withNewest(turns: readonly number[], newest: number): readonly number[] {
  const all = [...turns, newest]
  let needed = longestCycle
  for (let length = 1; length <= longestCycle; length++)
    needed = Math.max(needed, length + consecutiveMatches(all, length))
  return all.slice(-Math.min(needed, rememberedTurns))
}

/** The cycle that is nearest to its limit, or the shortest one if several are. Undefined if no turn is stored. `repeats` is the limit without waits. */
export function nearestCycle(turns: readonly number[], repeats: number): Cycle | undefined {
  let nearest: Cycle | undefined
  for (let length = 1; length <= Math.min(longestCycle, turns.length); length++) {
    const rounds = 1 + Math.floor(consecutiveMatches(turns, length) / length)
    // A single occurrence is not a cycle, and the cycle of length 1 already covers the newest turn.
    if (length > 1 && (rounds === 1 || consistsOfShorterRounds(turns, length))) continue
    // Polling with waits does little harm, and often succeeds.
    const limit = waitsInRound(turns, length) ? Math.max(repeats, Math.floor(turnsWithWaits / length)) : repeats
    const cycle = { length, repeats: rounds, limit }
    if (nearest === undefined || cycle.repeats / limit > nearest.repeats / nearest.limit) nearest = cycle
  }
  return nearest
}

/** Whether one of the newest turns waited. */
function waitsInRound(turns: readonly number[], length: number): boolean {
  for (let index = turns.length - length; index < turns.length; index++) if ((turns[index] ?? 0) < 0) return true
  return false
}

/** Whether the turns have the same calls and results, regardless of waiting. */
function isSameTurn(turn: number | undefined, other: number | undefined): boolean {
  return hashWithoutWait(turn) === hashWithoutWait(other)
}

function hashWithoutWait(turn: number | undefined): number | undefined {
  return turn !== undefined && turn < 0 ? -1 - turn : turn
}

/** Whether a round consists of shorter rounds: a round of four may be two rounds of two. */
function consistsOfShorterRounds(turns: readonly number[], round: number): boolean {
  for (let length = 1; length <= round / 2; length++)
    if (round % length === 0 && consecutiveMatches(turns, length) >= round - length) return true
  return false
}

/** The number of consecutive newest turns that equal the turn `length` before them. */
function consecutiveMatches(turns: readonly number[], length: number): number {
  let same = 0
  for (let index = turns.length - 1; index >= length && isSameTurn(turns[index], turns[index - length]); index--) same++
  return same
}

// Tool outputs are compared without parts that change by themselves: numbers, times, hashes and temporary paths (spec
// R-PROG-5). Outputs may be large, and almost all turns are new: between two numbers, a text is hashed four bytes at a
// time.

/** Maximum number of characters that are masked; the rest is compared exactly. */
const maxMaskedLength = 32_768

/**
 * Bit flags of the character classes; 7 is any character of a word. The code below uses literal numbers, because the
 * engine does not fold constants of a module.
 */
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
// These characters join two masked words into one: 12:30:05.1, 1,000, 2026-01-31, the parts of a UUID.
for (const character of '.,:+-') kinds[character.charCodeAt(0)] = joiner

const encoder = new TextEncoder()
/** The bytes of the text: at most three for each UTF-16 unit, plus room to read four at a time. Shared, because hashing is synchronous. */
const buffer = new ArrayBuffer(maxMaskedLength * 3 + 8)
const bytes: Uint8Array = new Uint8Array(buffer)
const words: Int32Array = new Int32Array(buffer)
const view: DataView = new DataView(buffer)

/**
 * A 32-bit hash of a text, chained through `link`. It treats as equal: numbers, times, durations, words with a digit,
 * hashes, and paths below temporary folders. Blanks next to these count once. Terminal escape sequences are ignored.
 */
export function maskedHash(text: string, link = 0): number {
  const masked = withoutPaths(text.length > maxMaskedLength ? text.slice(0, maxMaskedLength) : text)
  const end = encoder.encodeInto(masked, bytes).written
  // A terminator: no word extends beyond the end.
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
    const maskedEnd = endOfMasked(begins)
    from = maskedEnd
    while (kinds[bytes[from] ?? 0] === 8) from++
    hash ^= from > maskedEnd ? (hash >>> 15) + 1 : hash >>> 15
  }
  if (text.length > maxMaskedLength) return exactHash(text.slice(maxMaskedLength), hash)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** A 32-bit hash of a text, chained through `link`. All lone surrogates are treated as equal. */
export function exactHash(text: string, link: number): number {
  let hash = link
  for (let at = 0; at < text.length; at += maxMaskedLength) {
    const part = text.length <= maxMaskedLength ? text : text.slice(at, at + maxMaskedLength)
    hash = hashOfBytes(0, encoder.encodeInto(part, bytes).written, hash)
  }
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The position of the next digit, or the end. */
function nextDigit(from: number, end: number): number {
  // Digits are 0x30 to 0x39: without the bits of 0x30 they are below 10, and adding 0x76 leaves their highest bit clear.
  // Bytes before `from` do not count.
  let passed = 0x80808080 & ((1 << ((from & 3) << 3)) - 1)
  for (let word = from >> 2; word << 2 < end; word++) {
    const four = (words[word] ?? 0) ^ 0x30303030
    const digits = ((((four & 0x7f7f7f7f) + 0x76767676) | four | passed) & 0x80808080) ^ 0x80808080
    if (digits !== 0) return Math.min(end, (word << 2) + ((31 - Math.clz32(digits & -digits)) >> 3))
    passed = 0
  }
  return end
}

/** The hash of these bytes, chained to another one. It uses two lanes, because each multiplication must wait for the one before it. */
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

/** The end of the masked part that starts with a word with a digit. */
function endOfMasked(from: number): number {
  let begins = from
  let at = endOfWord(begins)
  for (;;) {
    const kind = kinds[bytes[at] ?? 0]
    if (kind === 16) {
      const next = endOfMaskedWord(at + 1, bytes[at] === 45)
      if (next < 0) return at
      begins = at + 1
      at = next
    } else if (kind === 8) {
      let next = endOfBlanks(at)
      const isUnit = isUnitOfTime(next)
      if (isUnit) {
        at = endOfWord(next)
        next = endOfBlanks(at)
      }
      // A duration may continue in smaller units: 1 min 30 s.
      const more = next > at ? endOfMaskedWord(next, false) : -1
      if (more > 0 && (isUnit || isDuration(begins))) {
        begins = next
        at = more
      } else if (!isUnit || next > at) return at
    } else return at
  }
}

function endOfWord(from: number): number {
  let at = from
  while (((kinds[bytes[at] ?? 0] ?? 0) & 7) !== 0) at++
  return at
}

function endOfBlanks(from: number): number {
  let at = from
  while (kinds[bytes[at] ?? 0] === 8) at++
  return at
}

/** The end of a masked word; -1 for any other word. */
function endOfMaskedWord(from: number, isPart: boolean): number {
  let at = from
  let flags = 0
  for (let kind = kinds[bytes[at] ?? 0] ?? 0; (kind & 7) !== 0; kind = kinds[bytes[++at] ?? 0] ?? 0) flags |= kind
  if ((flags & 4) !== 0) return at
  return isPart && flags === 2 && at - from >= 4 ? at : -1
}

/** Whether digits are followed by a time unit, such as `30s`. */
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

const startsTimeUnit: Uint8Array = new Uint8Array(256)
for (const character of 'numshdNUMSHD') startsTimeUnit[character.charCodeAt(0)] = 1

/** Whether the word that begins here is a time unit, in upper or lower case. Compared as a number in base 32. */
function isUnitOfTime(from: number): boolean {
  if (startsTimeUnit[bytes[from] ?? 0] !== 1) return false
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
/** Colours and cursor movements end with a letter, titles with a bell or another escape. */
const escapes = new RegExp(
  String.raw`\u001B(?:\[[^@-~\n\u001B]*[@-~]?|\][^\u0007\n\u001B]*(?:\u0007|\u001B\\)?|[^[\]])|\r`,
  'g',
)
const paths =
  /(?<![\w./\\~\u0080-\uFFFF-])\/(?:private\/)?(?:(?:var\/)?tmp|var\/folders|dev\/shm)\/[\w./\\~\u0080-\uFFFF-]*/g
const windowsPaths = /(?<=[\w./\\~\u0080-\uFFFF-])(?:\\{1,2}(?:Temp|temp|TEMP)\\|\/Temp\/)[\w./\\~\u0080-\uFFFF-]*/g

/** Removes escape sequences and replaces each path below a temporary folder with a number. Most texts contain neither escape sequences nor such paths. */
function withoutPaths(text: string): string {
  let masked = text.includes(escape) || text.includes('\r') ? text.replace(escapes, '') : text
  if (masked.includes('/tmp/') || masked.includes('/var/folders/') || masked.includes('/dev/shm/'))
    masked = masked.replace(paths, '0')
  // Windows paths contain another folder before the temporary one.
  return masked.includes('\\') || masked.includes('/Temp/') ? masked.replace(windowsPaths, ' 0') : masked
}
