import { isJsonObject } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'

/** Models of a run that reported tokens but no cost: they have no price, or a price of zero. */
export function freeModels(records: readonly StepRecord[]): readonly string[] {
  const models = new Set<string>()
  for (const record of records) {
    if (record.type !== 'result' || !isJsonObject(record.value)) continue
    const { charge } = record.value
    if (!isJsonObject(charge) || charge['known'] === false || charge['nanos'] !== 0) continue
    if (typeof charge['model'] === 'string' && Number(charge['tokens']) > 0) models.add(charge['model'])
  }
  return [...models]
}
