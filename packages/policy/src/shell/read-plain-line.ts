import { assigners } from './variables.ts'
import { reservedWords } from './opaque.ts'
import type { ShellWord } from './words.ts'

/** Commands and redirects of a line that contains nothing else. */
export interface ReadLine {
  readonly commands: readonly { readonly words: readonly ShellWord[]; readonly isPiped: boolean }[]
  /** Files that are written. */
  readonly targets: readonly ShellWord[]
}

const longest = 1_000
const maxWords = 60

// Text that every shell reads in the same way: letters, digits and signs without a special meaning, and quoted text without expansions.
const bare = String.raw`[A-Za-z0-9_./:=@%+,-]`
const single = String.raw`'[ -&(-\[\]-~]*'`
const double = String.raw`"[ #%-\[\]-_a-~]*"`
const wordPattern = `(?:${bare}|${single}|${double})+`
/** Each token is followed by a space or an operator, so that none ends inside a token of the shell. */
const tokenEnd = '(?=[ ;|&]|$)'
const token = new RegExp(
  ` *(?:(&&|\\|\\||;|\\|)|2>&1${tokenEnd}|[12]?>>?( ?)(${wordPattern})${tokenEnd}|(${wordPattern})${tokenEnd})`,
  'y',
)
const assignment = /^[A-Za-z_]\w*\+?=/

// Spec R-RULE-7t.
/**
 * Parses a line of simple commands joined by `&&`, `||`, `;` and `|`, whose words are plain text. Undefined for any other line, which needs parser
 * and lexer; they agree about each line that is parsed here.
 */
export function readPlainLine(text: string): ReadLine | undefined {
  if (text.length > longest) return undefined
  const pipelines: ShellWord[][][] = [[[]]]
  const targets: ShellWord[] = []
  let left = maxWords
  token.lastIndex = 0
  for (let at = 0; at < text.length; at = token.lastIndex) {
    const [all, operator, , target, source] = token.exec(text) ?? []
    if (all === undefined || (left -= 1) < 0) return undefined
    const pipeline = pipelines.at(-1) ?? []
    const command = pipeline.at(-1) ?? []
    if (operator === undefined && source !== undefined) {
      const read = wordOf(source)
      if (read === undefined || (command.length === 0 && isSpecial(source))) return undefined
      command.push(read)
      continue
    }
    // Nothing else may precede the name of a command.
    if (command.length === 0) return undefined
    if (operator === '|') pipeline.push([])
    else if (operator !== undefined) pipelines.push([[]])
    else if (target !== undefined) {
      const read = wordOf(target)
      if (read === undefined) return undefined
      targets.push(read)
    }
  }
  const commands = pipelines.flatMap((pipeline) => pipeline.map((words) => ({ words, isPiped: pipeline.length > 1 })))
  return commands.every(({ words }) => words.length > 0) ? { commands, targets } : undefined
}

function isSpecial(source: string): boolean {
  return /["'=]/.test(source) || reservedWords.has(source)
}

/** The word for a source text. Undefined for a word that sets a variable, or may do so. */
function wordOf(source: string): ShellWord | undefined {
  const isQuoted = source.includes("'") || source.includes('"')
  const value = isQuoted ? source.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2') : source
  if (value === '' || value.startsWith('~') || assignment.test(source)) return undefined
  const isSetting = assigners.has(value) || value === 'printf' || (isQuoted && setsQuoted(source))
  return isSetting ? undefined : { source, value, kind: 'literal' }
}

function setsQuoted(source: string): boolean {
  const text = source.replaceAll(/["']/g, '')
  return text === '$' || text === 'printf' || assigners.has(text)
}
