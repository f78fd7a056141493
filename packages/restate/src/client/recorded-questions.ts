import type { Question } from '@halting/core/session'
import type { JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { OpenQuestion } from '../service/status.ts'
import type { ClusterClient } from './client.ts'

/** A call is made by the reply before it: that is in one of so many records. */
const lastRecords = 100

/** Questions that are on record, for who does not hear of them from a worker: what is asked about is in the reply that makes the call. */
export async function recordedQuestions(
  client: Pick<ClusterClient, 'records'>,
  sessionId: string,
  { questions, records: count }: { readonly questions: readonly OpenQuestion[]; readonly records: number },
): Promise<readonly Question[]> {
  const records = await client.records(sessionId, Math.max(0, count - lastRecords))
  return questions.map(({ callId, key }) => {
    const call = callIn(records, callId)
    const input = call?.['input']
    return {
      id: key,
      callId,
      toolName: typeof call?.['name'] === 'string' ? call['name'] : '',
      input: isJsonObject(input) ? input : {},
      reason: '',
      suggestions: [],
    }
  })
}

/** The newest call of this id, wherever it stands in a record. */
function callIn(value: unknown, callId: string): JsonObject | undefined {
  if (Array.isArray(value)) {
    for (const part of (value as readonly unknown[]).toReversed()) {
      const found = callIn(part, callId)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  return value['type'] === 'tool_use' && value['id'] === callId ? value : callIn(Object.values(value), callId)
}
