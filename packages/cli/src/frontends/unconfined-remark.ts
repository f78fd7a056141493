import type { Question } from '@halting/core/session'

// Spec R-EFRONT-5.
/** A warning about a command that the model asks to run unconfined; undefined for any other call. */
export function unconfinedRemark({ toolName, input }: Pick<Question, 'toolName' | 'input'>): string | undefined {
  if ((toolName !== 'Bash' && toolName !== 'Wait') || input['unconfined'] !== true) return undefined
  return 'It would run outside of the confinement: with network, and with all of your files in reach.'
}
