import { hidden } from './seen.ts'

/** Arguments as a POSIX shell reads them back. */
export function shellQuoted(args: readonly string[]): string {
  return args.map(quoteArgument).join(' ')
}

function quoteArgument(argument: string): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument
  // A terminal that shows the command must not obey what is in it.
  const { steering, toEscape } = (patterns ??= makePatterns())
  if (steering.test(argument)) return `$'${argument.replaceAll(toEscape, escapeCharacter)}'`
  // In double quotes nothing but these means something to any shell.
  if (!/[$`"\\!]/.test(argument)) return `"${argument}"`
  return `'${argument.replaceAll("'", String.raw`'\''`)}'`
}

/** Made when they are first used: the engine looks up properties of all characters for them. */
let patterns: ReturnType<typeof makePatterns> | undefined

function makePatterns(): { readonly steering: RegExp; readonly toEscape: RegExp } {
  // Also what a person who is to paste the command would not see in it.
  return { steering: new RegExp(hidden, 'u'), toEscape: new RegExp(String.raw`['!\\]|${hidden}`, 'gu') }
}

function escapeCharacter(character: string): string {
  if (character === '\n') return String.raw`\n`
  if (character === "'" || character === '\\') return `\\${character}`
  // Byte by byte: by its number a shell finds a character only where the locale has it. A `!` may stand for a command of before.
  return [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
}
