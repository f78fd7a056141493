/** What the program itself writes: the colours of `style.ts`. */
const allowedStyle = '\\u001B\\[(?:0|1|2|31|32|33)m'

/** Sequences with all that belongs to them: CSI; OSC, DCS, SOS, PM and APC with their text; in seven bits and in eight. */
const sequences =
  '(?:\\u001B\\[|\\u009B)[0-?]*[ -/]*[@-~]|(?:\\u001B[\\]PX^_]|[\\u009D\\u0090\\u0098\\u009E\\u009F])[^\\u0007\\u001B\\u009C\\n]*(?:\\u0007|\\u001B\\\\|\\u009C)?'

/** Controls but tab and line feed, and what turns the direction of the text that follows. */
const single = '[\\u0000-\\u0008\\u000B-\\u001F\\u007F-\\u009F\\u202A-\\u202E\\u2066-\\u2069]'

/** All that steers a terminal, as the text of an expression: sequences first. */
export const hostileSequences: string = `${sequences}|${single}`

const hostile = new RegExp(`(${allowedStyle})|${hostileSequences}`, 'g')
const anything = new RegExp(single)

/**
 * The last thing that happens to text before a person sees it: nothing in it moves the cursor, sets a title, writes to
 * the clipboard, hides or turns around what stands beside it. Writers clean what they take from elsewhere; this holds where
 * one of them does not.
 */
export function inert(text: string, { styled }: { readonly styled: boolean }): string {
  if (!anything.test(text)) return text
  return text.replaceAll(hostile, (_found, style: string | undefined) => (styled ? (style ?? '') : ''))
}
