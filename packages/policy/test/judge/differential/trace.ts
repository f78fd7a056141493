/** The trace that bash wrote: the words of each command that it ran, one character per byte. */
export type TracedCommands = readonly (readonly string[])[]

/** The prefix of each line of a trace, repeated for each level of substitution. No analyzed line contains it. */
export const traceMark = '\u0001'

/** Traces contain the heads of compound commands, and assignments of variables. */
const isNoCommand = /^(?:(?:for|case|select) |\[\[ |\(\( |[A-Za-z_]\w*(?:\[.*?\])?\+?=)/s

/** Parses the output of `set -x` with `traceMark` and a space as PS4. The last record of an endless loop is truncated when the file is full. */
export function readTrace(trace: string): TracedCommands {
  const all = trace.split(new RegExp(`(?:^|\\n)${traceMark}+ `)).slice(1)
  const records = trace.endsWith('\n') ? all : all.slice(0, -1)
  return records.flatMap((record) => {
    const text = record.replace(/\n$/, '')
    return isNoCommand.test(text) ? [] : [wordsOf(text)]
  })
}

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  E: '\u001B',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{1,3}|[\s\S])/g, (_, code: string) =>
    /^[0-7]/.test(code) ? String.fromCodePoint(Number.parseInt(code, 8)) : (escapes[code] ?? code),
  )

const piece = /\$'((?:\\[\s\S]|[^'\\])*)'|'([^']*)'|\\([\s\S])|([^ '\\$]+|\$)|( )/g

/** The words of a command as `set -x` quotes them. */
function wordsOf(text: string): readonly string[] {
  const words: string[] = ['']
  for (const [, ansi, quoted, escaped, bare, blank] of text.matchAll(piece)) {
    if (blank === undefined)
      words[words.length - 1] += ansi === undefined ? (quoted ?? escaped ?? bare ?? '') : unescaped(ansi)
    else words.push('')
  }
  return words
}
