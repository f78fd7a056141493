import type { Flags } from '../flags/flags.ts'
import { askLine } from '../io/ask.ts'
import { told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { keyFindings } from './keys.ts'

/** What is told of a missing key: the error of the models, which this file need not load. */
export interface MissingKey {
  readonly model: string
  readonly keyVariables: readonly string[]
}

/**
 * There is no key: says in three lines what is needed, and what there is without one. In a terminal, where nobody wrote a prompt behind `-p`, it is a question (spec R-SETUP-1).
 * `again` does what was asked for, once there are settings.
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

/** As wide as a terminal is at least. */
function firstStartText({ model, keyVariables }: MissingKey, env: Program['env']): string {
  const [variable = 'its key'] = keyVariables
  const other = keyFindings(env, env).find(({ model: usual }) => usual !== undefined)
  const found = other === undefined ? '' : ` ${other.variable} is set: use --model ${other.model}.`
  return `${told(`No key for ${model}. Set ${variable}.${found}`)}${setupHints}`
}

const setupHints = `  halting setup   find keys and local models, and write your settings
  halting demo    watch a run with a scripted model (no key, no cost)
`
