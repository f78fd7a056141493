import { parseFlags } from '../flags/parse.ts'
import { shellQuoted } from '../io/shell-quote.ts'

/** How the program was called, and what it was asked: the prompt as written, and what was piped in with it. */
export interface Asked {
  readonly argv: readonly string[]
  readonly written: string
  readonly prompt: string
}

export interface Missing {
  readonly rules: readonly string[]
  readonly mode: string | undefined
}

/** A command that is longer than this nobody pastes. */
const longestCommand = 2_000

/** The one command that runs the same again with what was missing, and the words before it. */
export function rerun(
  { argv, written, prompt }: Asked,
  { rules, mode }: Missing,
): { readonly text: string; readonly command: string } {
  const added = [
    ...(mode === undefined ? [] : ['--permission-mode', mode]),
    ...(rules.length === 0 ? [] : ['--allowedTools', rules.join(',')]),
  ]
  const kept = withPrompt(mode === undefined ? argv : withoutMode(argv), written, prompt)
  const command = `halting ${shellQuoted(inserted(kept, added))}`
  if (command.length > longestCommand || holdsSettings(argv))
    return { text: 'Run the same again with:', command: `  ${shellQuoted(added)}` }
  return { text: 'Run it again with what was missing:', command: `  ${command}` }
}

/** Behind `-p`, where no word is a command. What was piped in is gone: it is written out. */
function withPrompt(argv: readonly string[], written: string, prompt: string): readonly string[] {
  const isPrinted = argv.includes('-p') || argv.includes('--print')
  if (prompt === written && isPrinted) return argv
  const flags = withoutWord(argv, written).filter((argument) => !['-p', '--print', '--'].includes(argument))
  return prompt.startsWith('-') ? ['-p', ...flags, '--', prompt] : ['-p', prompt, ...flags]
}

/** A flag may have the same value. */
function withoutWord(argv: readonly string[], written: string): readonly string[] {
  const hasWord = (tried: readonly string[]): boolean => {
    try {
      return parseFlags(tried).words.length > 0
    } catch {
      // It took a value from its flag.
      return true
    }
  }
  if (!hasWord(argv)) return argv
  const place = argv.findIndex((argument, index) => argument === written && !hasWord(argv.toSpliced(index, 1)))
  return place === -1 ? argv : argv.toSpliced(place, 1)
}

/** Settings that are written out as JSON may hold a key or the way to one, and what is shown here ends in logs. */
function holdsSettings(argv: readonly string[]): boolean {
  return argv.some(
    (argument, index) =>
      /^--settings=\s*\{/.test(argument) || (argv[index - 1] === '--settings' && argument.trimStart().startsWith('{')),
  )
}

/** Behind everything but what comes after `--`, where no flag is one. */
function inserted(argv: readonly string[], added: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end === -1 ? [...argv, ...added] : argv.toSpliced(end, 0, ...added)
}

function withoutMode(argv: readonly string[]): readonly string[] {
  return argv.filter(
    (argument, index) =>
      argument !== '--permission-mode' &&
      !argument.startsWith('--permission-mode=') &&
      argv[index - 1] !== '--permission-mode',
  )
}
