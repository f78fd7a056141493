import type { KeptRecord } from '../engine/batch.ts'

/** Records of a session, in order. */
export interface KeptRecords {
  /** Number of the first of the records. */
  readonly first: number
  /** The records. */
  readonly records: readonly KeptRecord[]
}

/** What can be read of an object. */
export interface ReadableState {
  get<T>(key: string): Promise<T | null>
  stateKeys(): Promise<readonly string[]>
}

/** An answer has about so many bytes, but for a record that is larger: the keys are listed once for each. */
const mostAnswerBytes = 1024 * 1024

/** In the order of their numbers as text, too. */
export function recordsKey(first: number): string {
  return `records/${String(first).padStart(9, '0')}`
}

/** Records from this number on, as many as one answer takes; none at the end. */
export async function recordsSince(state: ReadableState, since: number): Promise<KeptRecords> {
  const keys = (await state.stateKeys()).filter((key) => key.startsWith('records/')).toSorted()
  const begin = Math.max(
    0,
    keys.findLastIndex((key) => key <= recordsKey(since)),
  )
  const records: KeptRecord[] = []
  let bytes = 0
  for (const key of keys.slice(begin)) {
    const kept = await state.get<KeptRecords>(key)
    if (kept === null) break
    const wanted = kept.records.slice(Math.max(0, since - kept.first))
    const size = Buffer.byteLength(JSON.stringify(wanted))
    if (records.length > 0 && bytes + size > mostAnswerBytes) break
    records.push(...wanted)
    bytes += size
  }
  return { first: since, records }
}
