import type { SessionUpdate } from '@agentclientprotocol/sdk'
import type { TranscriptEntry } from '@halting/core'
import { isOfPerson, isToolResult, isToolUse } from '@halting/core/adapters'
import { CallUpdates } from './call-updates.ts'
import { promptBlocksOf } from './prompt-content.ts'
import { ReplyText } from './reply-text.ts'

/** What a client is told of an earlier conversation: all that was said, also what the model is shown no more (spec R-ACP-8). */
export function replayOf(entries: Iterable<TranscriptEntry>, cwd: string): readonly SessionUpdate[] {
  const [reply, calls] = [new ReplyText(), new CallUpdates(cwd)]
  const updates: SessionUpdate[] = []
  for (const entry of entries) {
    if (entry.kind === 'assistant') {
      const { content } = entry.message
      updates.push(...reply.message(entry.id, content))
      for (const { id, name, input } of content.filter(isToolUse)) updates.push(...calls.announce(id, name, input))
    }
    if (entry.kind !== 'user') continue
    const { content } = entry.message
    if (isOfPerson(entry))
      for (const block of promptBlocksOf(content))
        updates.push({ sessionUpdate: 'user_message_chunk', content: block, messageId: entry.id })
    if (typeof content === 'string') continue
    for (const { tool_use_id: id, content: result, is_error: isError } of content.filter(isToolResult))
      updates.push(...calls.result(id, result, isError === true, entry.details?.[id]))
  }
  return [...updates, ...calls.closeAll('The outcome of this call is unknown.')]
}
