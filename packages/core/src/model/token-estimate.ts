// Estimates tokens by character class. The weights are between those of o200k_base and cl100k_base, nearer to the newer
// one (measured texts: packages/core/test/context/token-counts.test.ts).

/** Hundredths of a token per ASCII character that is not a digit: code, JSON and prose of Latin languages. */
const plainWeight = 25
/** Digits form groups of at most three, and each separator between numbers is a separate token. */
const digitWeight = 50
/** Per character of a random-looking run: base64, hexadecimal digits, ids. */
const randomWeight = 62
/** Minimum length of a run of letters and digits that is checked. */
const minRunLength = 20
/** Share of adjacent characters of different classes (small, capital, digit): words have less, random characters more. */
const mixedShare = 0.35

/**
 * Hundredths of a token of each UTF-16 unit up to a code, in rising order. Blocks of 128 units have one weight: Latin
 * with accents and combining marks, Greek, Cyrillic, Hebrew, Arabic, Devanagari and related, Thai and related | other
 * scripts, Latin and Greek with more accents, punctuation and joiners | symbols, box drawing (which comes in rows),
 * symbols and emoji of one unit | kana, Chinese characters, Hangul | surrogates, emoji modifiers.
 */
const units =
  '2ff:40 37f:50 3ff:45 4ff:30 5ff:50 8ff:40 dff:38 fff:50 1dff:75 1fff:50 207f:75 24ff:100 257f:60 2bff:150 2fff:100 30ff:75 9fff:90 abff:75 d7ff:65 dfff:100 fdff:90 fe7f:100 ffff:75'

const unitWeights = new Uint8Array(512)
let block = 0
for (const entry of units.split(' ')) {
  const [last = '', weight] = entry.split(':')
  for (; block * 128 <= Number.parseInt(last, 16); block++) unitWeights[block] = Number(weight)
}

/** Classes of the characters in random runs: 1 small, 2 capital, 3 digit, 4 other characters of base64 and ids; 0 for any other. */
const kinds = new Uint8Array(128).fill(1, 97, 123).fill(2, 65, 91).fill(3, 48, 58)
for (const character of '+/=_-') kinds[character.charCodeAt(0)] = 4

const weights = new Uint8Array(128).fill(plainWeight).fill(digitWeight, 48, 58)

/**
 * Estimated tokens of a text: for thresholds, not an upper bound. The first long texts of a process use regular
 * expressions: V8 would optimize the loop for them, which costs ten times what it saves.
 */
export function estimateTokens(text: string): number {
  if (textsByPatterns === 0 || text.length < longTextLength || text.length > longestByPatterns || !isAscii.test(text))
    return estimateByLoop(text)
  textsByPatterns--
  return estimateByPatterns(text)
}

/** How many more long texts of this process use regular expressions, and the minimum length of a long text. */
let textsByPatterns = 4
const longTextLength = 2_000
/** A run of millions of characters would overflow the stack of an expression. */
const longestByPatterns = 200_000

/** Visits each character once, and those of long runs twice. */
export function estimateByLoop(text: string): number {
  let hundredths = 0
  let start = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 128) {
      hundredths += weights[unit] ?? plainWeight
      if (kinds[unit] !== 0) continue
    } else hundredths += unitWeights[unit >> 7] ?? plainWeight
    if (index - start >= minRunLength) hundredths += extraOfRun(text, start, index)
    start = index + 1
  }
  if (text.length - start >= minRunLength) hundredths += extraOfRun(text, start, text.length)
  return Math.ceil(hundredths / 100)
}

const isAscii = /^[\0-\x7f]*$/
const digits = /\d+/g
/** Runs of at least `minRunLength` characters that have a class. */
const longRuns = new RegExp(`(?<![\\w+/=-])[\\w+/=-]{${minRunLength},}`, 'g')

/** The same for ASCII text. */
export function estimateByPatterns(text: string): number {
  let hundredths =
    text.length * plainWeight + (text.length - text.replaceAll(digits, '').length) * (digitWeight - plainWeight)
  for (const { index, 0: run } of text.matchAll(longRuns)) hundredths += extraOfRun(text, index, index + run.length)
  return Math.ceil(hundredths / 100)
}

/** The additional tokens of a run beyond its plain characters: zero unless it looks random. */
function extraOfRun(text: string, from: number, to: number): number {
  let changes = 0
  let before = 0
  let excess = 0
  for (let index = from; index < to; index++) {
    const unit = text.charCodeAt(index)
    const kind = kinds[unit] ?? 0
    excess += randomWeight - (weights[unit] ?? plainWeight)
    if (kind === 4) continue
    if (before !== 0 && kind !== before) changes++
    before = kind
  }
  return changes >= (to - from) * mixedShare ? excess : 0
}
