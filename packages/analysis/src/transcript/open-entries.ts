import type { TranscriptEntry } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'

/** The key of a step without its run. */
function stepOf(key: string): string {
  return key.slice(key.indexOf('/') + 1)
}

/** Entries of the open turn, which no iteration has recorded yet. */
export function openEntries(records: readonly StepRecord[]): readonly TranscriptEntry[] {
  return records.flatMap((record): readonly TranscriptEntry[] => {
    if (record.type !== 'result' || !isJsonObject(record.value)) return []
    const { message, content, isError, details } = record.value
    const id = record.key
    const step = stepOf(id)
    if (step.startsWith('model:') && isJsonObject(message))
      // The step engine records an answer as a message.
      return [{ kind: 'assistant', id, message } as unknown as TranscriptEntry]
    const callId = /^tool:\d+:\d+:(.*)$/s.exec(step)?.[1]
    if (callId === undefined || content === undefined) return []
    const block = { type: 'tool_result', tool_use_id: callId, content, ...(isError === true && { is_error: true }) }
    const results = { role: 'user', content: [block] }
    const own = details === undefined ? {} : { details: { [callId]: details } }
    return [{ kind: 'user', id, origin: 'tool_results', message: results, ...own } as unknown as TranscriptEntry]
  })
}
