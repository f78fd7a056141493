import type { StepRecord } from '@halting/core'
import { hashText } from '@halting/core/adapters'
import type { Path } from './choices.ts'

/** Whether the run of this path is killed right after record number `length`. */
export type Kills = (path: Path, record: StepRecord, length: number) => boolean

export const everyKill: Kills = () => true
export const noKill: Kills = () => false

/** Kills after a fixed share of the records of each path, chosen by number and path: the same ones every time, whichever part of the paths is explored. */
export function thinnedKills(oneIn: number): Kills {
  return (path, _record, length) => (length + hashText(path.describe())) % oneIn === 0
}

/** The share of kills in a sample: one in this many. */
const oneIn = 60

/** Chooses by a hash of the path and the record's number, the same every time, and in addition the first record of every kind in a scenario. Each sampling starts afresh. */
export function sampledKills(): Kills {
  const seen = new Set<string>()
  return (path, record, length) => {
    const kind = kindOf(record)
    const isFirst = !seen.has(kind)
    seen.add(kind)
    return isFirst || hashText(`${path.describe()} ${length}`) % oneIn === 0
  }
}

/** The kind of a record and of its step: its key without numbers. */
function kindOf(record: StepRecord): string {
  if (record.type === 'lap') return `lap ${record.lap.transition}`
  return 'key' in record ? `${record.type} ${record.key.replaceAll(/\d+/g, '')}` : record.type
}
