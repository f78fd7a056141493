import type { RunResult } from '@halting/core'
import { uncheckedSentence } from '../frontends/unchecked-text.ts'
import { oneLine } from '../io/figures.ts'

/**
 * A line about an unchecked last change; '' without one. `changes`: the changed files, if known; `check`:
 * a command that would check them.
 */
export function uncheckedLine(terminal: RunResult, changes: string, check?: string): string {
  if (uncheckedSentence(terminal) === '') return ''
  const what = changes === '' ? 'files changed' : changes
  const how = check === undefined ? '' : ` Check with: ${oneLine(check, 200)}`
  return `! Not checked: ${what}, and no check has passed since.${how}`
}
