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
  const kept = mode === undefined ? argv : withoutMode(argv)
  const command = `halting ${shellQuoted(inserted(withPrompt(kept, written, prompt), added))}`
  if (command.length > longestCommand) return { text: 'Run the same again with:', command: `  ${shellQuoted(added)}` }
  return { text: 'Run it again with what was missing:', command: `  ${command}` }
}

/** What was piped in is gone: it is written out. */
function withPrompt(argv: readonly string[], written: string, prompt: string): readonly string[] {
  if (prompt === written) return argv
  const place = written === '' ? -1 : argv.lastIndexOf(written)
  if (place !== -1) return argv.with(place, prompt)
  return prompt.startsWith('-') ? [...argv, '--', prompt] : [prompt, ...argv]
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
