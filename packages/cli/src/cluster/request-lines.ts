import type { LimitRequest } from '@halting/core'
import type { Question } from '@halting/core/session'
import { inputSummary } from '@halting/analysis/words'
import { flagTable } from '../flags/table.ts'
import { limitFlags } from '../flags/limit-flags.ts'
import { limitQuestion, limitReason } from '../frontends/limit-question.ts'
import { programMessage } from '../io/figures.ts'
import { revealHiddenInLine } from '../io/reveal-hidden.ts'
import { shellQuoted } from '../io/shell-quote.ts'

/** Says which call waits in a session, and which commands answer it. */
export function permissionRequestLine(sessionId: string, { callId, toolName, input }: Question, url: string): string {
  const command = (word: string): string => `halting ${shellQuoted([word, sessionId, callId, '--cluster', url])}`
  const call = revealHiddenInLine(`${toolName} ${inputSummary(input)}`.trim(), 200)
  return programMessage(
    `${call === '' ? 'a call' : call} waits for an answer: ${command('approve')}, or ${command('deny')}`,
  )
}

/** Says at which limit a run pauses, and which command raises the limit. */
export function limitQuestionLine(sessionId: string, request: LimitRequest, url: string): string {
  const { limit, offers } = request
  const [flag = ''] = flagTable[limitFlags[limit]].names
  const to = offers.at(-1)?.to ?? 0
  const value = limit === 'maxDurationMs' ? `${to}ms` : String(to)
  const command = shellQuoted(['-p', '--resume', sessionId, '--cluster', url, flag, value])
  return programMessage(
    `The run pauses. ${limitQuestion(request)} ${limitReason(request)} To raise it: halting ${command}`,
  )
}
