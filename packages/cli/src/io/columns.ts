/** Columns that a text takes in a terminal: two for a wide character, none for a combining one. Never less than the real width. */
export function columnsOf(text: string): number {
  if (isPrintableAscii(text)) return text.length
  let columns = 0
  for (const character of text) columns += characterWidth(character)
  return columns
}

/** The text, cut with an ellipsis if it is wider than `columns`. */
export function fitted(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text
  let [kept, room] = ['', columns - 1]
  for (const character of text) {
    room -= characterWidth(character)
    if (room < 0) break
    kept += character
  }
  return columns > 0 ? `${kept.trimEnd()}…` : ''
}

/** The text wrapped between words to lines of at most `columns` columns. A word that is longer than a line stays whole. */
export function wrapped(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => linesOf(line.split(' '), columns))
    .join('\n')
}

function linesOf(words: readonly string[], columns: number): readonly string[] {
  const lines: string[] = []
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length === 0 || columnsOf(longer) > columns) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  return lines
}

/** Whether every character takes one column: printable ASCII. */
export function isPrintableAscii(text: string): boolean {
  return /^[\u0020-\u007E]*$/.test(text)
}

/** Created for the first text that is not ASCII, because the engine then loads Unicode property tables. */
let patterns: { readonly joining: RegExp; readonly wide: RegExp } | undefined

function characterWidth(character: string): number {
  const { joining, wide } = (patterns ??= makePatterns())
  if (character === '\uFE0F') return 1 // Variation selector 16: turns a narrow sign into an emoji.
  if (joining.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

function makePatterns(): { readonly joining: RegExp; readonly wide: RegExp } {
  return {
    // Not all invisible characters: a soft hyphen or an Arabic number sign takes a column.
    joining: /[\p{Mn}\p{Me}\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]/u,
    // East Asian wide and full-width characters, and emoji.
    wide: /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1B000}-\u{1B2FF}\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u,
  }
}
