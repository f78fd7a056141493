import type { Question } from '@halting/core/session'
import { inputSummary } from '@halting/analysis/words'
import { told } from '../io/figures.ts'
import { everyCharacterInLine } from '../io/seen.ts'
import { shellQuoted } from '../io/shell-quote.ts'

/** Where a call waits, and what lets it go on. */
export function questionLine(sessionId: string, { callId, toolName, input }: Question, url: string): string {
  const command = (word: string): string => `halting ${shellQuoted([word, sessionId, callId, '--cluster', url])}`
  const call = everyCharacterInLine(`${toolName} ${inputSummary(input)}`.trim(), 200)
  return told(`${call === '' ? 'a call' : call} waits for an answer: ${command('approve')}, or ${command('deny')}`)
}
