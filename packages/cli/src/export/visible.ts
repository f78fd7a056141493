/** The steering of a terminal: CSI and OSC sequences. */
// oxlint-disable-next-line no-control-regex -- control characters are what is taken out
const steering = /\u001B(?:\[[\d;:?<=>]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\))/g

/** What is not seen, or turns around or breaks what stands beside it: controls, directions, separators, tags, halves of characters. */
const unseen =
  // oxlint-disable-next-line no-control-regex -- control characters are what is made visible
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069\uFFF9-\uFFFB\u{E0000}-\u{E007F}\p{Surrogate}]/gu

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
