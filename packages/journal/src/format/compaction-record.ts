import type { ModelMessage } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'

/** What a compaction came to, where this is the record of one: the messages that it kept stand in lines of their own. */
export function compactionResult(
  record: StepRecord,
): { readonly messages: readonly ModelMessage[]; readonly [field: string]: unknown } | undefined {
  if (record.type !== 'result' || !/(?:^|\/)compact:[^/]*$/.test(record.key)) return undefined
  const { result } = (record.value ?? {}) as { readonly result?: { readonly messages?: unknown } | null }
  // The step of this name records what the loop's compaction gives.
  return Array.isArray(result?.messages) ? (result as ReturnType<typeof compactionResult>) : undefined
}
