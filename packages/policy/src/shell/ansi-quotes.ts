const controls: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  e: '\u001B',
  E: '\u001B',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
}

const escape = /\\(?:x([0-7][0-9A-Fa-f])|([01][0-7]{2})|([abeEfnrtv\\'"?]))/g

/**
 * The value of `$'…'` if all versions of bash agree on its escapes: letters, and `\xHH` with two digits or `\NNN` with three, both in ASCII.
 * Undefined for other escapes, and for characters that bash uses internally.
 */
export function ansiValue(quoted: string): string | undefined {
  const inside = quoted.slice(2, -1)
  const value = inside.replaceAll(escape, (_, hex: string | undefined, octal: string | undefined, letter: string) =>
    hex !== undefined
      ? String.fromCharCode(Number.parseInt(hex, 16))
      : octal !== undefined
        ? String.fromCharCode(Number.parseInt(octal, 8))
        : (controls[letter] ?? ''),
  )
  const isUnusual = inside.replaceAll(escape, '').includes('\\')
  // oxlint-disable-next-line no-control-regex -- control characters are what is searched for
  return isUnusual || /[\0\u0001\u007F]/.test(value) ? undefined : value
}
