import type { TranscriptEntry } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'

/** The key of a step without its run. */
function stepOf(key: string): string {
  return key.slice(key.indexOf('/') + 1)
}

/** What the open turn has on record is in no lap yet. */
export function openEntries(records: readonly StepRecord[]): readonly TranscriptEntry[] {
  return records.flatMap((record): readonly TranscriptEntry[] => {
    if (record.type !== 'result' || !isJsonObject(record.value)) return []
    const { message, content, isError, details } = record.value
    const id = record.key
    const step = stepOf(id)
    if (step.startsWith('model:') && isJsonObject(message))
      // What a driver recorded for an answer is a message.
      return [{ kind: 'assistant', id, message } as unknown as TranscriptEntry]
    const callId = /^tool:\d+:\d+:(.*)$/s.exec(step)?.[1]
    if (callId === undefined || content === undefined) return []
    const block = { type: 'tool_result', tool_use_id: callId, content, ...(isError === true && { is_error: true }) }
    const message1 = { role: 'user', content: [block] }
    const own = details === undefined ? {} : { details: { [callId]: details } }
    return [{ kind: 'user', id, origin: 'tool_results', message: message1, ...own } as unknown as TranscriptEntry]
  })
}
