import { hiddenCharacters } from './reveal-hidden.ts'

/** Arguments quoted for a POSIX shell. */
export function shellQuoted(args: readonly string[]): string {
  return args.map(quoteArgument).join(' ')
}

function quoteArgument(argument: string): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument
  // A terminal that shows the command must not obey control characters in it.
  const { steering, toEscape } = (patterns ??= makePatterns())
  if (steering.test(argument)) return `$'${argument.replaceAll(toEscape, escapeCharacter)}'`
  // Within double quotes, only these characters are special to a shell.
  if (!/[$`"\\!]/.test(argument)) return `"${argument}"`
  return `'${argument.replaceAll("'", String.raw`'\''`)}'`
}

/** Created on first use, because the engine then loads Unicode property tables. */
let patterns: ReturnType<typeof makePatterns> | undefined

function makePatterns(): { readonly steering: RegExp; readonly toEscape: RegExp } {
  // Includes characters that a person who pastes the command would not see.
  return {
    steering: new RegExp(hiddenCharacters, 'u'),
    toEscape: new RegExp(String.raw`['!\\]|${hiddenCharacters}`, 'gu'),
  }
}

function escapeCharacter(character: string): string {
  if (character === '\n') return String.raw`\n`
  if (character === "'" || character === '\\') return `\\${character}`
  // Escaped byte by byte, because `\u` depends on the locale of the shell. A `!` could expand to an earlier command.
  return [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
}
