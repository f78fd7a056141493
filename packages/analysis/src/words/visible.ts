/** Terminal control sequences: CSI and OSC. */
// oxlint-disable-next-line no-control-regex -- control characters are what is taken out
const controlSequences = /\u001B(?:\[[\d;:?<=>]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\))/g

/** Invisible characters that are part of a script: variation selectors and joiners of emoji, and joiners of letters. */
const scriptJoiners = [
  '(?<=\\p{Extended_Pictographic})[\\uFE0E\\uFE0F]',
  '\\uFE0F(?=\\u20E3)',
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\uFE0F])\\u200D(?=\\p{Extended_Pictographic})',
  '(?<=[\\p{L}\\p{M}])(?<![\\0-\\u024F])[\\u200C\\u200D](?=[\\p{L}\\p{M}])',
].join('|')

/**
 * Characters that are invisible, or that reorder or break the text around them: controls, directions, separators, zero-width characters, tags, lone
 * surrogates.
 */
const invisible = new RegExp(
  `[\\0-\\x08\\x0B-\\x1F\\x7F-\\x9F\\u2028\\u2029\\uFFF9-\\uFFFB\\p{Surrogate}]|(?!${scriptJoiners})\\p{Default_Ignorable_Code_Point}`,
  'gu',
)

/** Makes every character of untrusted text visible and inert. */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(controlSequences, '')
    .replaceAll(invisible, (character) => {
      const code = character.codePointAt(0) ?? 0
      if (code < 32) return String.fromCodePoint(0x24_00 + code)
      return `⟦U+${code.toString(16).toUpperCase().padStart(4, '0')}⟧`
    })
}

/** The beginning and the end of a text that is too long to show. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const half = Math.floor(most / 2)
  // A surrogate that is cut off is shown by `visible`.
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters are left out here; the export as jsonl has them …\n${text.slice(-half)}`
}
