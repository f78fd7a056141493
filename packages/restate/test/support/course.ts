import type { StepRecord } from '@halting/core/steps'
import type { Played } from './play.ts'

const times: ReadonlySet<string> = new Set(['at', 'durationMs', 'until', 'now', 'apiMs', 'startedAt'])

/**
 * Records without times. Concurrent work ends in any order: the records of each agent are separate, and of its calls' outcomes only their existence counts. What the model was
 * shown of them, and in which order, is in the iterations.
 */
function course(records: readonly StepRecord[]): unknown {
  const inOrder = new Map<string, unknown[]>()
  const beside: { [record: string]: unknown } = {}
  for (const record of records) {
    const value: unknown = JSON.parse(JSON.stringify(record), (field, part: unknown) => (times.has(field) ? 0 : part))
    const path =
      'key' in record ? record.key.slice(0, record.key.lastIndexOf('/') + 1) : 'scope' in record ? record.scope : ''
    const isBeside = 'key' in record && /\/(?:tool|agent):[^/]*$/.test(record.key)
    if (isBeside) beside[`${record.type} ${record.key}`] = value
    else inOrder.set(path, [...(inOrder.get(path) ?? []), value])
  }
  return { inOrder: Object.fromEntries(inOrder), beside }
}

/** Everything that must be the same. */
export function sameOf(seed: number, { records, reasons, effects }: Played): unknown {
  return { seed, reasons, effects: effects.toSorted(), ...(course(records) as object) }
}
