/** The steering of a terminal: CSI and OSC sequences. */
// oxlint-disable-next-line no-control-regex -- control characters are what is taken out
const steering = /\u001B(?:\[[\d;:?<=>]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\))/g

/** Without width, and part of how something is written: the kind and the joints of emoji, joints of letters in scripts that have them. */
const written = [
  '(?<=\\p{Extended_Pictographic})[\\uFE0E\\uFE0F]',
  '\\uFE0F(?=\\u20E3)',
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\uFE0F])\\u200D(?=\\p{Extended_Pictographic})',
  '(?<=[\\p{L}\\p{M}])(?<![\\0-\\u024F])[\\u200C\\u200D](?=[\\p{L}\\p{M}])',
].join('|')

/** What is not seen, or turns around or breaks what stands beside it: controls, directions, separators, what has no width, tags, halves of characters. */
const unseen = new RegExp(
  `[\\0-\\x08\\x0B-\\x1F\\x7F-\\x9F\\u2028\\u2029\\uFFF9-\\uFFFB\\p{Surrogate}]|(?!${written})\\p{Default_Ignorable_Code_Point}`,
  'gu',
)

/** Text from elsewhere for a page that a person reads: every character of it is seen, none does anything. */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(steering, '')
    .replaceAll(unseen, (character) => {
      const code = character.codePointAt(0) ?? 0
      if (code < 32) return String.fromCodePoint(0x24_00 + code)
      return `⟦U+${code.toString(16).toUpperCase().padStart(4, '0')}⟧`
    })
}

/** The head and the tail of a text that is too long to be shown. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const half = Math.floor(most / 2)
  // What is cut in the middle of a character is shown as one by `visible`.
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters are left out here; the export as jsonl has them …\n${text.slice(-half)}`
}
