import * as fc from 'fast-check'
import type { StepRecord } from '@halting/core'

/** The end of a process, or of a run: by a person who aborts it, or by a kill, after which another process goes on. */
export interface Interruption {
  readonly what: 'abort' | 'kill'
  readonly when:
    /** So many records after the process began. */
    | { readonly records: number }
    /** When so many requests have come in after the process began, and so many events of the last are out. */
    | { readonly requests: number; readonly events: number }
  /** Kills: the share of what was written since the last sync that is lost with the process. */
  readonly lost: number
}

const when: fc.Arbitrary<Interruption['when']> = fc.oneof(
  fc.record({ records: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ requests: fc.integer({ min: 1, max: 5 }), events: fc.nat(9) }),
)

const interruption = (what: Interruption['what']): fc.Arbitrary<Interruption> =>
  fc.record({ what: fc.constant(what), when, lost: fc.double({ min: 0, max: 1, noNaN: true }) })

/** Kills one after another, and perhaps an abort after them. */
export const anyInterruptions: fc.Arbitrary<readonly Interruption[]> = fc
  .tuple(
    fc.array(interruption('kill'), { maxLength: 4 }),
    fc.option(interruption('abort'), { freq: 2, nil: undefined }),
  )
  .map(([kills, abort]) => (abort === undefined ? kills : [...kills, abort]))

/**
 * What is left on disk of a process that was killed, as JSON: all that was synced, which the intent of a request is
 * before it is made, and some of what was written since.
 */
export function survivors(records: readonly StepRecord[], lost: number): readonly StepRecord[] {
  const synced = records.findLastIndex(
    (record) => record.type === 'intent' && /(^|\/)(model|wrap_up):[^/]*$/.test(record.key),
  )
  const unsynced = records.length - (synced + 1)
  const kept = records.slice(0, records.length - Math.floor(unsynced * lost))
  // What is on disk is JSON of the same shape.
  return kept.map((record) => JSON.parse(JSON.stringify(record)) as StepRecord)
}

/** Whether a request had been begun, and nothing was known of its end. */
export function hasOpenRequest(records: readonly StepRecord[]): boolean {
  const open = new Set<string>()
  for (const record of records) {
    if (record.type === 'intent' && /(model|wrap_up):[^/]*$/.test(record.key)) open.add(record.key)
    if (record.type === 'result') open.delete(record.key)
  }
  return open.size > 0
}
