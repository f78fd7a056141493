import * as fc from 'fast-check'
import type { StepRecord } from '@halting/core'

/** The end of a process or run: a person aborts it, or it is killed and another process resumes. */
export interface Interruption {
  readonly what: 'abort' | 'kill'
  readonly when:
    /** This many records after the process started. */
    | { readonly records: number }
    /**
     * When this many requests have arrived since the process started, and this many events of the last one were sent.
     */
    | { readonly requests: number; readonly events: number }
  /** For kills: the share of unsynced data that is lost with the process. */
  readonly lost: number
}

const when: fc.Arbitrary<Interruption['when']> = fc.oneof(
  fc.record({ records: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ requests: fc.integer({ min: 1, max: 5 }), events: fc.nat(9) }),
)

const interruption = (what: Interruption['what']): fc.Arbitrary<Interruption> =>
  fc.record({ what: fc.constant(what), when, lost: fc.double({ min: 0, max: 1, noNaN: true }) })

/** Several kills, possibly followed by an abort. */
export const anyInterruptions: fc.Arbitrary<readonly Interruption[]> = fc
  .tuple(
    fc.array(interruption('kill'), { maxLength: 4 }),
    fc.option(interruption('abort'), { freq: 2, nil: undefined }),
  )
  .map(([kills, abort]) => (abort === undefined ? kills : [...kills, abort]))

/**
 * The records that a killed process leaves on disk, as JSON. They include all synced ones, and so the intent of each
 * request, and a part of the later ones.
 */
export function survivors(records: readonly StepRecord[], lost: number): readonly StepRecord[] {
  const synced = records.findLastIndex(
    (record) => record.type === 'intent' && /(^|\/)(model|wrap_up):[^/]*$/.test(record.key),
  )
  const unsynced = records.length - (synced + 1)
  const kept = records.slice(0, records.length - Math.floor(unsynced * lost))
  // The disk has JSON of the same shape.
  return kept.map((record) => JSON.parse(JSON.stringify(record)) as StepRecord)
}

/** Whether a request was started and its end is unknown. */
export function hasOpenRequest(records: readonly StepRecord[]): boolean {
  const open = new Set<string>()
  for (const record of records) {
    if (record.type === 'intent' && /(model|wrap_up):[^/]*$/.test(record.key)) open.add(record.key)
    if (record.type === 'result') open.delete(record.key)
  }
  return open.size > 0
}
