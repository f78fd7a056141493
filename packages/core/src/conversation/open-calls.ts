import { isToolResult, toolCallsOf, type ToolUseBlock } from '../model/messages.ts'
import type { Transcript } from './transcript.ts'

/** Calls at the end of the transcript that have no result yet. */
export function openCallsOf(transcript: Transcript): readonly ToolUseBlock[] {
  const answered = new Set<string>()
  for (let index = transcript.length - 1; index >= 0; index--) {
    const entry = transcript.at(index)
    if (entry?.kind === 'user' && typeof entry.message.content !== 'string') {
      for (const block of entry.message.content) if (isToolResult(block)) answered.add(block.tool_use_id)
    }
    if (entry?.kind === 'compact_boundary') return []
    if (entry?.kind !== 'assistant' || entry.error !== undefined) continue
    return toolCallsOf(entry.message).filter(({ id }) => !answered.has(id))
  }
  return []
}
