import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { bashScript } from './bash-script.ts'
import { type CompletionModel, completionModel } from './completion-model.ts'
import { fishScript } from './fish-script.ts'
import { zshScript } from './zsh-script.ts'

const scripts: { readonly [shell: string]: (model: CompletionModel) => string } = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

// Spec R-HELP-5.
/** `halting completion SHELL`: prints the completion script for this shell. */
export function completion([shell, ...others]: readonly string[], { output }: Program): number {
  const script = shell === undefined || others.length > 0 ? undefined : scripts[shell]
  if (script === undefined || shell === undefined || !Object.hasOwn(scripts, shell))
    throw new UsageError('halting completion takes one shell: bash, zsh or fish. For example: halting completion bash.')
  output.out(script(completionModel()))
  return 0
}
