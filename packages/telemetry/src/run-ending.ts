import type { Attributes } from '@opentelemetry/api'
import type { RunResult } from '@halting/core'
import { limitOfResult } from '@halting/core/adapters'
import { nameOf } from './content.ts'
import { ownAttributes as own } from './names.ts'

/** What is told of how a run ended. Its sentence is left out where a hook or a tool may have written it. */
export function endingOf(terminal: RunResult, sentence: string | undefined): Attributes {
  const { reason, signal, summary, costUsd, committedUsd, totalTokens, durationMs } = terminal
  return {
    [own.reason[0]]: reason,
    [own.category[0]]: signal.reason,
    ...(sentence !== undefined && { [own.message[0]]: sentence }),
    [own.costUsd[0]]: costUsd,
    [own.committedUsd[0]]: committedUsd,
    [own.tokens[0]]: totalTokens,
    [own.turns[0]]: summary.turns,
    [own.requests[0]]: summary.requests,
    [own.activeMs[0]]: durationMs,
    ...endedBy(terminal),
  }
}

/** The limit of the run that ended it, or the budget that it shared with others. */
function endedBy(terminal: RunResult): Attributes {
  const limit = limitOfResult(terminal)
  const { budget, resetsAt } = terminal.signal.context
  return {
    ...(limit !== null && { [own.limit[0]]: limit }),
    ...(typeof budget === 'string' && { [own.budget[0]]: nameOf(budget) }),
    ...(typeof resetsAt === 'string' && { [own.resetsAt[0]]: nameOf(resetsAt) }),
  }
}

/** Undefined for a run that did not fail. That a limit was reached, or that it was aborted, is no failure. */
export function errorTypeOf({ signal, reason, error }: RunResult): string | undefined {
  const isFailure = signal.reason === 'error' || signal.reason === 'retry_limit'
  return isFailure ? (error?.code ?? reason) : undefined
}
