const letters: { readonly [code: number]: string | undefined } = {
  7: 'a',
  8: 'b',
  9: 't',
  10: 'n',
  11: 'v',
  12: 'f',
  13: 'r',
  34: '"',
  92: '\\',
}

/** A name as git writes it in a diff: control characters are escaped by their code. */
export function gitQuotedName(name: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what is quoted
  if (!/[^\u0020-\u007E]|["\\]/.test(name)) return name
  const escaped = [...Buffer.from(name)].map((code) => {
    const letter = letters[code]
    if (letter !== undefined) return `\\${letter}`
    return code < 32 || code > 126 ? `\\${code.toString(8).padStart(3, '0')}` : String.fromCharCode(code)
  })
  return `"${escaped.join('')}"`
}
