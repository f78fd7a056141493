import type { Flags } from '../flags/flags.ts'
import { told } from '../io/figures.ts'
import { readPiped } from '../io/stdin.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { openModels } from '../session/models.ts'
import { queryOptionsOf } from '../session/options.ts'
import { openToolbox } from '../session/toolbox.ts'
import { UsageError } from '../usage-error.ts'
import { watchInterruption } from './interruption.ts'
import { createReport } from './report.ts'
import { runPrompt } from './run.ts'

/** `halting -p`: one prompt, one run, one ending. Returns the exit code. */
export async function headless(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const { output, env, cwd, stdin } = program
  const [written = ''] = words
  if (written.trim() === '' && stdin.isTTY) throw noPrompt()
  refuseCompact(written)
  const toolbox = openToolbox(flags, cwd, env)
  // A run that has no prompt says so before it asks for a key; one that has a prompt does not wait for a pipe to say what it lacks.
  const piped = written.trim() === '' ? await promptOf(written, program) : undefined
  const models = await openModels(flags, program)
  for (const warning of models.warnings) output.err(told(warning))
  try {
    const options = await queryOptionsOf(flags, program, toolbox, models)
    const prompt = piped ?? (await promptOf(written, program))
    const interruption = watchInterruption(output)
    try {
      const style = styleFor(output.isTerminal.stderr, env)
      const report = createReport({ flags, output, style, toolbox, asked: { argv: program.argv, written, prompt } })
      return await runPrompt(prompt, options, toolbox, interruption, report)
    } finally {
      interruption.release()
    }
  } finally {
    await models.close()
  }
}

/** What was written as an argument, and then what was piped in. */
async function promptOf(written: string, { stdin, output }: Program): Promise<string> {
  const hasPrompt = written.trim() !== ''
  const piped = await readPiped(stdin, output, hasPrompt)
  const prompt = [written, piped].filter((part) => part.trim() !== '').join('\n\n')
  if (prompt === '') throw noPrompt()
  refuseCompact(prompt)
  return prompt
}

/** @throws UsageError for a command that needs a conversation: there is none yet. */
function refuseCompact(prompt: string): void {
  if (!/^\/compact(?:\s|$)/.test(prompt)) return
  throw new UsageError(
    'There is no conversation to compact: halting -p begins a new one. A run makes room by itself when its window fills up; --autocompact says when.',
  )
}

function noPrompt(): UsageError {
  return new UsageError(
    'There is no prompt. Write it behind -p (halting -p "What does this project do?"), or pipe it in.',
  )
}
