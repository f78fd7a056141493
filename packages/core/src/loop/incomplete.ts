import type { AssistantMessage } from '../model/messages.ts'
import { appendReply, type Answer } from './ask.ts'
import { refusalEnding } from '../run/pending-endings.ts'
import { endWith, type Outcome } from '../run/outcome.ts'
import { endWithoutRoutes, recoverBroken, recoverCut, recoverWindow, resumePaused } from './recover.ts'
import type { Run } from '../run/run.ts'

// Replies that the model did not finish.

// Spec R-GUARD-5, R-REQ-6.
/**
 * True for a stop reason that the loop recovers from, unless a guard stops on it. A reply that was truncated because the
 * budget lowered its limit is not recovered: the run ends as over budget.
 */
export function isIncomplete({ message, calls, grant }: Answer): boolean {
  if (message.stop_reason === 'model_context_window_exceeded') return true
  if (calls.length > 0) return false
  return isPaused(message) || (message.stop_reason === 'max_tokens' && grant.lowered === null)
}

/** Whether the service paused, or compacted the conversation and expects another request. */
function isPaused({ stop_reason: reason }: AssistantMessage): boolean {
  return reason === 'pause_turn' || reason === 'compaction'
}

/** How to recover a reply that the model did not finish and that has no complete tool call; undefined when there is nothing to recover. */
export function recoverIncomplete(run: Run, reply: Answer): Outcome | undefined {
  const { message, calls, streamError } = reply
  if (message.stop_reason === 'model_context_window_exceeded') return recoverWindow()
  if (calls.length > 0) return undefined
  if (streamError !== null) return recoverBroken(run, reply, streamError)
  if (message.stop_reason === 'max_tokens') return recoverCut(run, reply)
  if (isPaused(message)) return resumePaused(run, reply)
  return undefined
}

/**
 * The ending for an incomplete last answer. Works like `recoverIncomplete`, but without retries, and ignores tool calls.
 * Undefined for a complete answer.
 */
export function endIncomplete(run: Run, reply: Answer): Outcome | undefined {
  const { message } = reply
  if (message.stop_reason === 'refusal') {
    appendReply(run, reply)
    return endWithoutRoutes(endWith(refusalEnding(message)))
  }
  const incomplete = recoverIncomplete(run, { ...reply, calls: [] })
  return incomplete && endWithoutRoutes(incomplete)
}
