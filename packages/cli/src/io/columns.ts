import { eastAsianWidth } from 'get-east-asian-width'

/** Columns of a terminal that a text takes: wide characters two, combining ones none. Never less than a terminal takes. */
export function columnsOf(text: string): number {
  if (isPlain(text)) return text.length
  let columns = 0
  for (const character of text) columns += widthOf(character)
  return columns
}

/** The text, or as much of it as fits the columns, with an ellipsis at its end. */
export function fitted(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text
  let [kept, room] = ['', columns - 1]
  for (const character of text) {
    room -= widthOf(character)
    if (room < 0) break
    kept += character
  }
  return columns > 0 ? `${kept.trimEnd()}…` : ''
}

/** The text in lines of at most so many columns, parted between words where that can be. */
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

/** Every character takes one column: printable ASCII. */
export function isPlain(text: string): boolean {
  return /^[\u0020-\u007E]*$/.test(text)
}

/** Made at first use: the engine looks up properties of all characters for it. Not all invisible ones: a soft hyphen has a column of its own. */
let joining: RegExp | undefined

function widthOf(character: string): number {
  joining ??= /[\p{Mn}\p{Me}\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]/u
  if (character === '\uFE0F') return 1 // It makes a narrow sign an emoji.
  return joining.test(character) ? 0 : eastAsianWidth(character.codePointAt(0) ?? 0)
}
