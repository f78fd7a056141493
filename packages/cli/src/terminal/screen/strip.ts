import { hostileSequences } from '../../io/sanitize-terminal-text.ts'

const keepsColours = new RegExp(`(\\u001B\\[[\\d;:]*m)|${hostileSequences}`, 'g')
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const hasControls = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/

/**
 * Text of models and tools, safe to print: without control characters and sequences other than colours, tabs as four spaces,
 * lines separated by `\n`. Text overwritten after a carriage return is removed, as in a terminal (spec R-TERM-6).
 */
export function stripToColours(text: string): string {
  if (!hasControls.test(text)) return text
  const spaced = withoutOverwritten(text).replaceAll('\t', '    ')
  return spaced.replaceAll(keepsColours, (_found, colours: string | undefined) =>
    colours === undefined ? '' : visibleColours(colours),
  )
}

/** Like `stripToColours` but without colours, for text that the program colours itself. */
export function plainText(text: string): string {
  if (!hasControls.test(text)) return text
  return withoutOverwritten(text).replaceAll('\t', '    ').replaceAll(keepsColours, '')
}

/** The visible text for copying: like `plainText`, with its tabs. */
export function copyableText(text: string): string {
  return hasControls.test(text) ? withoutOverwritten(text).replaceAll(keepsColours, '') : text
}

function withoutOverwritten(text: string): string {
  if (!text.includes('\r')) return text
  const lines = text.split('\n').map((line) => line.replace(/\r+$/, ''))
  return lines.map((line) => line.slice(line.lastIndexOf('\r') + 1)).join('\n')
}

/** Removes styles that hide text or make it blink. */
function visibleColours(sequence: string): string {
  const codes = sequence.slice(2, -1).split(';')
  const visible: string[] = []
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? ''
    // An indexed or RGB colour consumes the following numbers.
    const more = code === '38' || code === '48' ? (codes[at + 1] === '5' ? 2 : codes[at + 1] === '2' ? 4 : 0) : 0
    if (!/^0*[568]$/.test(code)) visible.push(...codes.slice(at, at + more + 1))
    at += more
  }
  return visible.length === 0 ? '' : `\u001B[${visible.join(';')}m`
}
