import { join } from 'node:path'
import type { TranscriptEntry } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { callIdOf } from '../format/encoder.ts'

// Spec R-STEP-5.
/**
 * The records of a session in which what tools said of large results names the folder of its copy. Calls and prompts stay as they were said, so what
 * a request on record was about is the same: of results it knows the ids of their calls.
 */
export function withMovedResults(
  runs: readonly (readonly StepRecord[])[],
  from: string,
  to: string,
): readonly StepRecord[] {
  const moved = mover(join(from, 'tool-results'), join(to, 'tool-results'))
  const told = (entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] =>
    entries.map((entry) => (isOfTools(entry) ? moved(entry) : entry))
  return runs.flat().map((record): StepRecord => {
    switch (record.type) {
      case 'start':
        return { ...record, start: { ...record.start, added: told(record.start.added) } }
      case 'lap':
        return { ...record, lap: { ...record.lap, added: told(record.lap.added) } }
      case 'end':
        return { ...record, added: told(record.added) }
      case 'result':
        return isToolStep(record.key) ? { ...record, value: moved(record.value) } : record
      case 'intent':
      case 'control':
      case 'rewind':
      case 'stage':
        return record
    }
  })
}

/** A call, the keeping of what it gave, or what hooks left of it. */
function isToolStep(key: string): boolean {
  return callIdOf(key) !== undefined || /(?:^|\/)(?:save|shown):\d/.test(key)
}

/** Results, and what was made of them when they were cleared or summed up. */
function isOfTools(entry: TranscriptEntry): boolean {
  return entry.kind === 'user'
    ? entry.origin === 'tool_results'
    : entry.kind === 'results_cleared' || entry.kind === 'compact_boundary'
}

/** Puts one text in the place of another, wherever it stands in a value. What holds none is given as it is, and what is the same thing twice stays so. */
function mover(from: string, to: string): <T>(value: T) => T {
  const done = new Map<object, unknown>()
  const move = (value: unknown): unknown => {
    if (typeof value === 'string') return value.includes(from) ? value.replaceAll(from, () => to) : value
    if (typeof value !== 'object' || value === null) return value
    const known = done.get(value)
    if (known !== undefined) return known
    const parts: readonly unknown[] = Object.values(value)
    const moved = parts.map(move)
    const isSame = moved.every((part, index) => part === parts[index])
    const result = isSame
      ? value
      : Array.isArray(value)
        ? moved
        : Object.fromEntries(Object.keys(value).map((field, index) => [field, moved[index]]))
    done.set(value, result)
    return result
  }
  // A value of the same form, with other texts in it.
  return <T>(value: T): T => move(value) as T
}
