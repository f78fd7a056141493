import { hostileSequences } from '../../io/inert.ts'

const keepsColours = new RegExp(`(\\u001B\\[[\\d;:]*m)|${hostileSequences}`, 'g')
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const hasControls = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/

/**
 * Text of models and tools as it may be printed: no control character and no sequence but colours and the like, tabs as four spaces, lines
 * parted by `\n`. What a carriage return wrote over is gone, as it is in a terminal (spec R-TERM-6).
 */
export function stripToColours(text: string): string {
  if (!hasControls.test(text)) return text
  const spaced = withoutOverwritten(text).replaceAll('\t', '    ')
  return spaced.replaceAll(keepsColours, (_found, colours: string | undefined) =>
    colours === undefined ? '' : visibleColours(colours),
  )
}

/** The same without colours: for text that gets those of the program. */
export function plainText(text: string): string {
  if (!hasControls.test(text)) return text
  return withoutOverwritten(text).replaceAll('\t', '    ').replaceAll(keepsColours, '')
}

/** What is shown of a text, to be taken elsewhere: `plainText` with its tabs. */
export function copyableText(text: string): string {
  return hasControls.test(text) ? withoutOverwritten(text).replaceAll(keepsColours, '') : text
}

function withoutOverwritten(text: string): string {
  if (!text.includes('\r')) return text
  const lines = text.split('\n').map((line) => line.replace(/\r+$/, ''))
  return lines.map((line) => line.slice(line.lastIndexOf('\r') + 1)).join('\n')
}

/** Without what hides text or makes it blink. */
function visibleColours(sequence: string): string {
  const codes = sequence.slice(2, -1).split(';')
  const visible: string[] = []
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? ''
    // A colour by number, or by its parts, takes the numbers behind it with it.
    const more = code === '38' || code === '48' ? (codes[at + 1] === '5' ? 2 : codes[at + 1] === '2' ? 4 : 0) : 0
    if (!/^0*[568]$/.test(code)) visible.push(...codes.slice(at, at + more + 1))
    at += more
  }
  return visible.length === 0 ? '' : `\u001B[${visible.join(';')}m`
}
