import type { AssistantMessage, ContentBlock } from './messages.ts'
import { ModelError, type ModelErrorJson } from './model-error.ts'

/** Stop reasons with which a model says that its answer is there. */
const ended: ReadonlySet<string | null> = new Set([null, 'end_turn', 'stop_sequence'])

/** True for a whole reply in which the model says nothing: no words, no call, nothing of the service's own. */
export function isEmptyReply({ content, stop_reason: stopReason }: AssistantMessage): boolean {
  return ended.has(stopReason) && content.every(saysNothing)
}

function saysNothing(block: ContentBlock): boolean {
  if (block.type === 'text') return block.text.trim() === ''
  return block.type === 'thinking' || block.type === 'redacted_thinking'
}

// Spec R-REQ-11.
/** Why a request is made again after a reply that says nothing. */
export const emptyReplyError: ModelErrorJson = new ModelError({
  kind: 'unknown',
  message: 'The reply was empty.',
  retryable: true,
}).toRecord()
