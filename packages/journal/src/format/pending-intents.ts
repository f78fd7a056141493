import type { StepRecord } from '@halting/core/steps'

/** How the line of an intent begins, up to its key; before that, how it begins in files of the first format. */
const intentStarts = [
  '{"record":{"type":"intent","key":"',
  '{"type":"halting","record":{"type":"intent","key":"',
] as const

/** The text of a line that is not parsed yet, and how many records stand before it. */
interface Held {
  readonly line: string
  readonly at: number
  hasResult: boolean
}

/**
 * The intents of a turn that goes on, as they were written. Once the turn is over, an intent that has its result tells nothing that the result does not:
 * it is never parsed, which is a quarter of what reading a session takes.
 */
export class HeldIntents {
  readonly #held = new Map<string, Held>()

  /** False for a line that is something else. `at`: the number of records before it. */
  take(line: string, at: number): boolean {
    const intentStart = intentStarts.find((start) => line.startsWith(start))
    if (intentStart === undefined) return false
    const key = line.slice(intentStart.length, line.indexOf('"', intentStart.length))
    // Of one that is written otherwise than it reads nothing is known here.
    if (key.includes('\\')) return false
    this.#held.delete(key)
    this.#held.set(key, { line, at, hasResult: false })
    return true
  }

  note(record: StepRecord): void {
    if (record.type === 'result') {
      const held = this.#held.get(record.key)
      if (held !== undefined) held.hasResult = true
      return
    }
    const ends = (record.type === 'lap' && record.lap.scope === '') || (record.type === 'end' && record.scope === '')
    if (!ends || this.#held.size === 0) return
    for (const [key, { hasResult }] of this.#held) if (hasResult) this.#held.delete(key)
  }

  /** Puts those that are left among the records, where they stood. */
  into(records: StepRecord[], recordOf: (line: string) => StepRecord): void {
    for (const { line, at } of [...this.#held.values()].toReversed()) records.splice(at, 0, recordOf(line))
    this.#held.clear()
  }
}
