// Text widths without a browser. A picture may be shown in any font, so these are the widths of the widest common fonts, and texts never overlap.

/** The style of a text. */
export interface TextLook {
  /** Font size, in pixels. */
  readonly size: number
  readonly isBold?: boolean
  /** Monospaced, with all spaces preserved. */
  readonly isCode?: boolean
}

/** Widths in hundredths of the font size, from the space to the tilde. */
const ofAscii: readonly number[] = (
  '32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 56 102 68 69 72 77 67 61 78 75 29 50 67 56 86 75 79 ' +
  '67 79 72 67 61 73 68 99 69 67 69 39 34 39 84 56 50 61 63 56 63 62 35 63 63 28 28 58 28 97 63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 64 84'
)
  .split(' ')
  .map(Number)

const [ofLetter, ofSymbol, ofWide, ofCode, boldFactor] = [82, 100, 106, 62, 1.15] as const

/** Full-width scripts and symbols; emoji are slightly wider. */
const wide = /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\u{1F000}-\u{3FFFF}]/u
const withoutWidth = /\p{M}|\p{Default_Ignorable_Code_Point}/u

/** The width of a line in pixels, rounded up rather than down. */
export function textWidth(text: string, { size, isBold = false, isCode = false }: TextLook): number {
  let hundredths = 0
  for (const character of text) hundredths += widthOf(character, isCode)
  return (hundredths * size * (isBold && !isCode ? boldFactor : 1)) / 100
}

function widthOf(character: string, isCode: boolean): number {
  const code = character.codePointAt(0) ?? 0
  if (code < 127) return isCode ? ofCode : (ofAscii[code - 32] ?? 0)
  if (withoutWidth.test(character)) return 0
  if (wide.test(character)) return isCode ? 2 * ofCode : ofWide
  if (isCode) return code < 0x2_500 ? ofCode : ofLetter
  return code < 0x2_000 ? ofLetter : ofSymbol
}

/** Marks omitted text. */
const ellipsis = '…'

/** Breaks text into lines of this width: at spaces if possible, else within a word. Beyond the maximum, the last line ends with `…`. */
export function linesOf(text: string, width: number, look: TextLook, maxLines = Infinity): readonly string[] {
  const lines: string[] = []
  for (const paragraph of text.split('\n')) {
    for (const line of wrapped(look.isCode === true ? paragraph : paragraph.trim(), width, look)) {
      if (lines.length === maxLines) {
        const last = lines.pop() ?? ''
        return [...lines, withEllipsis(last, width, look)]
      }
      lines.push(line)
    }
  }
  return lines
}

/** Text on one line, cut to fit. */
export function fitText(text: string, width: number, look: TextLook): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return textWidth(line, look) <= width ? line : withEllipsis(line, width, look)
}

function withEllipsis(line: string, width: number, look: TextLook): string {
  const room = width - textWidth(ellipsis, look)
  return room < 0 ? '' : `${firstThatFits(line, room, look).trimEnd()}${ellipsis}`
}

function* wrapped(paragraph: string, width: number, look: TextLook): Generator<string> {
  let line = ''
  for (const word of paragraph.split(look.isCode === true ? /(?<= )(?=\S)/ : /(?<=\s)(?=\S)/)) {
    if (textWidth((line + word).trimEnd(), look) <= width) {
      line += word
      continue
    }
    if (line.trim() !== '') yield line.trimEnd()
    line = word
    while (textWidth(line.trimEnd(), look) > width) {
      const part = firstThatFits(line, width, look)
      yield part
      line = line.slice(part.length)
    }
  }
  yield line.trimEnd()
}

/** At least one character, so that the loop ends. */
function firstThatFits(text: string, width: number, look: TextLook): string {
  let length = 0
  let left = width
  for (const character of charactersOf(text)) {
    left -= textWidth(character, look)
    if (left < 0 && length > 0) break
    length += character.length
    if (left < 0) break
  }
  return text.slice(0, length)
}

const segments = new Intl.Segmenter('en')

/** Grapheme clusters, which must not be split. For plain ASCII text, iterating over the string is ten times as fast. */
function* charactersOf(text: string): Generator<string> {
  if (/^[ -~]*$/.test(text)) yield* text
  else for (const { segment } of segments.segment(text)) yield segment
}
