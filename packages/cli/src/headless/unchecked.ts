import type { RunResult } from '@halting/core'
import { uncheckedSentence } from '../frontends/unchecked-text.ts'
import { oneLine } from '../io/figures.ts'

/**
 * The line about a last change that no check has passed since; '' where there is none. `changes`: which files were changed, as far as it is known; `check`:
 * a command that would check it.
 */
export function uncheckedLine(terminal: RunResult, changes: string, check?: string): string {
  if (uncheckedSentence(terminal) === '') return ''
  const what = changes === '' ? 'files changed' : changes
  const how = check === undefined ? '' : ` Check with: ${oneLine(check, 200)}`
  return `! Not checked: ${what}, and no check has passed since.${how}`
}
