import type { StepRecord } from '@halting/core'
import { hashText } from '@halting/core/adapters'
import type { Path } from './choices.ts'

/** Whether the run of this path is killed right after record number `length`. */
export type Kills = (path: Path, record: StepRecord, length: number) => boolean

export const everyKill: Kills = () => true
export const noKill: Kills = () => false

/** One record in so many of each path, by its number and the path: the same ones every time, whatever part of the paths is gone. */
export function thinnedKills(oneIn: number): Kills {
  return (path, _record, length) => (length + hashText(path.describe())) % oneIn === 0
}

/** One kill in so many. */
const oneIn = 60

/**
 * A choice by a hash of the path and the record's number, the same every time, and the first record of every kind that a scenario comes to.
 * Each sampling begins anew.
 */
export function sampledKills(): Kills {
  const seen = new Set<string>()
  return (path, record, length) => {
    const kind = kindOf(record)
    const isFirst = !seen.has(kind)
    seen.add(kind)
    return isFirst || hashText(`${path.describe()} ${length}`) % oneIn === 0
  }
}

/** What is recorded and of which kind of step: its key without numbers. */
function kindOf(record: StepRecord): string {
  if (record.type === 'lap') return `lap ${record.lap.transition}`
  return 'key' in record ? `${record.type} ${record.key.replaceAll(/\d+/g, '')}` : record.type
}
