// How many tokens a text has, by the kinds of its characters. The figures are between those of o200k_base and cl100k_base, nearer to the newer one
// (packages/core/test/context/token-counts.test.ts has measured texts).

/** Hundredths of a token for each character of ASCII that is not a digit: code, JSON and prose of Latin languages. */
const plain = 25
/** Digits come in groups of at most three, and what stands between numbers is a token of its own. */
const digit = 50
/** Each character of a run that looks random: base64, hexadecimal digits, ids. */
const random = 62
/** A run of letters and digits is looked at from this length on. */
const leastRun = 20
/** Share of neighbours in it of different kinds (small, capital, digit): words have less, random characters more. */
const mixedShare = 0.35

/** Hundredths of a token of each UTF-16 unit up to a code, in rising order. Blocks of 128 units have one weight. */
const units: readonly (readonly [last: number, weight: number])[] = [
  [0x02ff, 40], // Latin with accents
  [0x037f, 50], // combining accents
  [0x03ff, 45], // Greek
  [0x04ff, 30], // Cyrillic
  [0x05ff, 50], // Armenian, Hebrew
  [0x08ff, 40], // Arabic
  [0x0dff, 38], // Devanagari and its kin
  [0x0fff, 50], // Thai, Lao, Tibetan
  [0x1dff, 75],
  [0x1fff, 50], // Latin and Greek with more accents
  [0x207f, 75], // punctuation, joiners
  [0x24ff, 100],
  [0x257f, 60], // lines of boxes, which come in rows
  [0x2bff, 150], // symbols, emoji of one unit
  [0x2fff, 100],
  [0x30ff, 75], // kana, and punctuation of Chinese and Japanese
  [0x9fff, 90], // Chinese characters
  [0xabff, 75],
  [0xd7ff, 65], // Hangul
  [0xdfff, 100], // halves of pairs: emoji, rare characters
  [0xfdff, 90],
  [0xfe7f, 100], // signs that choose the form of an emoji
  [0xffff, 75],
]

const unitWeights = new Uint8Array(512)
for (let block = 0, row = 0; block < 512; block++) {
  while (block * 128 > (units[row]?.[0] ?? 0xffff)) row++
  unitWeights[block] = units[row]?.[1] ?? plain
}

/** Of the characters that random runs are made of: 1 small, 2 capital, 3 digit, 4 what else base64 and ids have; 0 of any other. */
const kinds = new Uint8Array(128)
for (const [index, characters] of [
  'abcdefghijklmnopqrstuvwxyz',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  '0123456789',
  '+/=_-',
].entries())
  for (const character of characters) kinds[character.charCodeAt(0)] = index + 1

/** About how many tokens a text has: an estimate for thresholds, and no upper bound. Takes one look at each character. */
export function estimateTokens(text: string): number {
  let hundredths = 0
  let start = 0
  let changes = 0
  let before = 0
  for (let index = 0; index <= text.length; index++) {
    // Behind the end, so that a last run ends there.
    const unit = index < text.length ? text.charCodeAt(index) : 0
    const kind = unit < 128 ? (kinds[unit] ?? 0) : 0
    if (kind === 0) {
      const length = index - start
      if (length >= leastRun && changes >= length * mixedShare) hundredths += excessOf(text, start, index)
      start = index + 1
      changes = 0
      before = 0
    } else if (kind !== 4) {
      if (before !== 0 && kind !== before) changes++
      before = kind
    }
    if (index < text.length) hundredths += unit < 128 ? (kind === 3 ? digit : plain) : (unitWeights[unit >> 7] ?? plain)
  }
  return Math.ceil(hundredths / 100)
}

/** What a random run has beyond what its characters were counted as. */
function excessOf(text: string, from: number, to: number): number {
  let excess = 0
  for (let index = from; index < to; index++) excess += random - (kinds[text.charCodeAt(index)] === 3 ? digit : plain)
  return excess
}
