import type { ModelMessage } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'

/**
 * Returns the result of a compaction, if this is the record of one. The messages that it preserved are in separate
 * lines.
 */
export function compactionResult(
  record: StepRecord,
): { readonly messages: readonly ModelMessage[]; readonly [field: string]: unknown } | undefined {
  if (record.type !== 'result' || !/(?:^|\/)compact:[^/]*$/.test(record.key)) return undefined
  const { result } = (record.value ?? {}) as { readonly result?: { readonly messages?: unknown } | null }
  // Only the loop's compaction records a step with this name.
  return Array.isArray(result?.messages) ? (result as ReturnType<typeof compactionResult>) : undefined
}
