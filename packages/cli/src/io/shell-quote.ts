/** Arguments as a POSIX shell reads them back. */
export function shellQuoted(args: readonly string[]): string {
  return args.map(quoted).join(' ')
}

function quoted(argument: string): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument
  // A terminal that shows the command must not obey what is in it.
  if (control.test(argument)) return `$'${argument.replaceAll(/['\\]|\p{Cc}/gu, escaped)}'`
  // In double quotes nothing but these means something to any shell.
  if (!/[$`"\\!]/.test(argument)) return `"${argument}"`
  return `'${argument.replaceAll("'", String.raw`'\''`)}'`
}

const control = /\p{Cc}/u

function escaped(character: string): string {
  if (character === '\n') return String.raw`\n`
  if (!control.test(character)) return `\\${character}`
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
}
