import { isJsonObject } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'

/** Notices that a model's reply brought with it, such as that another API or a lower effort is used (`ModelReply.warnings`). */
export function noticesOfReply(record: StepRecord): readonly string[] {
  if (record.type !== 'result' || !isJsonObject(record.value)) return []
  const { kind, warnings } = record.value
  if (kind !== 'answered' || !Array.isArray(warnings)) return []
  return warnings.filter((warning): warning is string => typeof warning === 'string')
}

/** Most notices of one run that are told. */
const mostNotices = 10

/** The notices of a run and its agents, each once. */
export function noticesOfRun(records: readonly StepRecord[]): readonly string[] {
  return [...new Set(records.flatMap(noticesOfReply))].slice(0, mostNotices)
}
