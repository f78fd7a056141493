import { mostInlineBytes } from '../engine/batch.ts'
import { isPacked, textsIn, wholeRecord, type KeptRecord, type ServedRecord } from '../engine/packed-record.ts'
import { SessionTexts, textKey, type StoredText } from '../engine/session-texts.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'

/** Records of a session, in order. */
export interface KeptRecords {
  /** Number of the first of the records. */
  readonly first: number
  /** The records. */
  readonly records: readonly ServedRecord[]
}

/** The same as an object stores them. */
export interface StoredRecords {
  readonly first: number
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

/** Records from this number on, as many as one answer takes; none at the end. Long texts that are stored apart are in their places. */
export async function recordsSince(
  state: ReadableState,
  since: number,
  store: PayloadStore | undefined,
): Promise<KeptRecords> {
  const keys = (await state.stateKeys()).filter((key) => key.startsWith('records/')).toSorted()
  const begin = Math.max(
    0,
    keys.findLastIndex((key) => key <= recordsKey(since)),
  )
  const texts = new SessionTexts()
  const records: ServedRecord[] = []
  let bytes = 0
  for (const key of keys.slice(begin)) {
    const kept = await state.get<StoredRecords>(key)
    if (kept === null) break
    const wanted = kept.records.slice(Math.max(0, since - kept.first))
    const size = Buffer.byteLength(JSON.stringify(wanted)) + wanted.reduce((sum, record) => sum + longBytes(record), 0)
    if (records.length > 0 && bytes + size > mostAnswerBytes) break
    for (const record of wanted) records.push(await served(record, state, store, texts))
    bytes += size
  }
  return { first: since, records }
}

/** Bytes of the texts that a record is without. */
function longBytes(record: KeptRecord): number {
  return isPacked(record) ? record.texts.reduce((sum, { bytes }) => sum + bytes, 0) : 0
}

/** With its long texts; one that is too large for an answer, which only a payload store makes possible, is put there. */
async function served(
  record: KeptRecord,
  state: ReadableState,
  store: PayloadStore | undefined,
  texts: SessionTexts,
): Promise<ServedRecord> {
  if (!isPacked(record)) return record
  for (const sha256 of textsIn([record]))
    if (!texts.has(sha256)) {
      const stored = await state.get<StoredText>(textKey(sha256))
      if (stored !== null) texts.add(sha256, stored)
    }
  const whole = await wholeRecord(record, store, texts)
  return store !== undefined && longBytes(record) > mostInlineBytes ? store.put(JSON.stringify(whole)) : whole
}
