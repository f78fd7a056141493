import { isJsonObject } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'

/** Notices of a model's reply, for example that another API or a lower effort was used (`ModelReply.warnings`). */
export function noticesOfReply(record: StepRecord): readonly string[] {
  if (record.type !== 'result' || !isJsonObject(record.value)) return []
  const { kind, warnings } = record.value
  if (kind !== 'answered' || !Array.isArray(warnings)) return []
  return warnings.filter((warning): warning is string => typeof warning === 'string')
}

/** The maximum number of notices. */
const maxNotices = 10

/** Adds the notices of a run and its agents to known ones, without duplicates. */
export function noticesWith(known: readonly string[], records: readonly StepRecord[]): readonly string[] {
  const more = records.flatMap(noticesOfReply)
  return more.length === 0 ? known : [...new Set([...known, ...more])].slice(0, maxNotices)
}
