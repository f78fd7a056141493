import { isJsonObject } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'

/** Notices that a model's reply brought with it, such as that another API or a lower effort is used (`ModelReply.warnings`). */
export function noticesOfReply(record: StepRecord): readonly string[] {
  if (record.type !== 'result' || !isJsonObject(record.value)) return []
  const { kind, warnings } = record.value
  if (kind !== 'answered' || !Array.isArray(warnings)) return []
  return warnings.filter((warning): warning is string => typeof warning === 'string')
}

/** Most notices that are told. */
const mostNotices = 10

/** Notices that are known already, with those of a run and its agents, each once. */
export function noticesWith(known: readonly string[], records: readonly StepRecord[]): readonly string[] {
  const more = records.flatMap(noticesOfReply)
  return more.length === 0 ? known : [...new Set([...known, ...more])].slice(0, mostNotices)
}
