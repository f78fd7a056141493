/** The styles that the program itself writes: those of `style.ts`. */
const allowedStyle = '\\u001B\\[(?:0|1|2|31|32|33)m'

/** Complete escape sequences, in 7-bit and 8-bit form: CSI, and OSC, DCS, SOS, PM and APC with their text. */
const sequences =
  '(?:\\u001B\\[|\\u009B)[0-?]*[ -/]*[@-~]|(?:\\u001B[\\]PX^_]|[\\u009D\\u0090\\u0098\\u009E\\u009F])[^\\u0007\\u001B\\u009C\\n]*(?:\\u0007|\\u001B\\\\|\\u009C)?'

/** Control characters other than tab and line feed, and characters that change the text direction. */
const single = '[\\u0000-\\u0008\\u000B-\\u001F\\u007F-\\u009F\\u202A-\\u202E\\u2066-\\u2069]'

/** The source of a pattern for everything that controls a terminal, with sequences before single characters. */
export const hostileSequences: string = `${sequences}|${single}`

const hostile = new RegExp(`(${allowedStyle})|${hostileSequences}`, 'g')
const anything = new RegExp(single)

/**
 * Sanitizes text as the last step before a person sees it. The result cannot move the cursor, set a title, write to the
 * clipboard, or hide or reverse the text around it. Callers sanitize external text themselves; this function is the
 * safety net if a caller does not.
 */
export function sanitizeTerminalText(text: string, { styled }: { readonly styled: boolean }): string {
  if (!anything.test(text)) return text
  return text.replaceAll(hostile, (_found, style: string | undefined) => (styled ? (style ?? '') : ''))
}
