import type { Flags } from '../flags/flags.ts'
import { askLine } from '../io/ask.ts'
import { programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { keyFindings } from './keys.ts'

/** The fields of the models package's error that are needed here, so that the package need not be loaded. */
export interface MissingKey {
  readonly model: string
  readonly keyVariables: readonly string[]
}

/**
 * Explains in three lines what a start without a key needs. On a terminal without `-p`, offers setup and the demo (spec
 * R-SETUP-1). `again` repeats the call after setup.
 */
export async function firstStart(
  missing: MissingKey,
  flags: Flags,
  program: Program,
  again: () => Promise<number>,
): Promise<number> {
  const { output, stdin, env } = program
  output.err(firstStartText(missing, env))
  const isAsked = flags.print !== true && stdin.isTTY && output.isTerminal.stdout && output.isTerminal.stderr
  if (!isAsked) return 2
  const answer =
    (await askLine('Set up now (s), watch the demo (d), or quit (Enter)? [s/d/Q] ', {
      stdin,
      stderr: process.stderr,
    })) ?? ''
  if (/^d/i.test(answer)) {
    const { demo } = await import('../demo/demo.ts')
    return demo({}, program)
  }
  if (!/^s/i.test(answer)) return 2
  const { setup } = await import('./setup.ts')
  const exitCode = await setup({}, program)
  return exitCode === 0 ? again() : exitCode
}

/** Fits into the narrowest usual terminal. */
function firstStartText({ model, keyVariables }: MissingKey, env: Program['env']): string {
  const [variable = 'its key'] = keyVariables
  const other = keyFindings(env, env).find(({ model: usual }) => usual !== undefined)
  const found = other === undefined ? '' : ` ${other.variable} is set: use --model ${other.model}.`
  return `${programMessage(`No key for ${model}. Set ${variable}.${found}`)}${setupHints}`
}

const setupHints = `  halting setup   find keys and local models, and write your settings
  halting demo    watch a run with a scripted model (no key, no cost)
`
