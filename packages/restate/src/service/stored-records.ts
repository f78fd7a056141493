import { maxInlineBytes } from '../engine/batch.ts'
import {
  isPacked,
  engineTextNames,
  unpackRecord,
  type StoredRecord,
  type ServedRecord,
} from '../engine/packed-record.ts'
import { SessionTexts, textKey, type StoredText } from '../engine/session-texts.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'

/** Consecutive records of a session. */
export interface RecordsPage {
  /** Number of the first record. */
  readonly first: number
  /** The records. */
  readonly records: readonly ServedRecord[]
}

/** A page of records as an object stores it. */
export interface StoredRecordsPage {
  readonly first: number
  readonly records: readonly StoredRecord[]
}

/** The readable part of an object's state. */
export interface ReadableState {
  get<T>(key: string): Promise<T | null>
  stateKeys(): Promise<readonly string[]>
}

/** Approximate size of an answer, unless a single record is larger. Each answer lists all keys once. */
const maxAnswerBytes = 1024 * 1024
/** Maximum number of keys that are requested at once. */
const maxKeysAhead = 64

/** Padded, so that keys sort by number. */
export function recordsKey(first: number): string {
  return `records/${String(first).padStart(9, '0')}`
}

/** Records from this number on, as many as fit into one answer; empty at the end. Long texts are put back in place. */
export async function readRecordsPage(
  state: ReadableState,
  since: number,
  store: PayloadStore | undefined,
): Promise<RecordsPage> {
  const keys = (await state.stateKeys()).filter((key) => key.startsWith('records/')).toSorted()
  const begin = Math.max(
    0,
    keys.findLastIndex((key) => key <= recordsKey(since)),
  )
  const stored: StoredRecord[] = []
  let bytes = 0
  let ahead = 1
  for (let next = begin, isFull = false; next < keys.length && !isFull;) {
    const asked = keys.slice(next, next + ahead).map((key) => state.get<StoredRecordsPage>(key))
    // The engine's promises must be awaited one at a time.
    for (const page of asked) {
      const found = await page
      const wanted = found?.records.slice(Math.max(0, since - found.first)) ?? []
      const size =
        Buffer.byteLength(JSON.stringify(wanted)) + wanted.reduce((sum, each) => sum + longTextBytes(each), 0)
      isFull ||= found === null || (stored.length > 0 && bytes + size > maxAnswerBytes)
      if (isFull) continue
      stored.push(...wanted)
      bytes += size
    }
    next += asked.length
    ahead = keysAhead(next - begin, bytes)
  }
  const texts = new SessionTexts()
  await readTexts(state, engineTextNames(stored), texts)
  const records: ServedRecord[] = []
  for (const record of stored) records.push(await toServedRecord(record, store, texts))
  return { first: since, records }
}

/** How many more keys may fit, judging by those so far. Requested one after another they would take milliseconds each. */
function keysAhead(count: number, bytes: number): number {
  const fitting = Math.floor(((maxAnswerBytes - bytes) * count) / Math.max(1, bytes))
  return Math.min(maxKeysAhead, Math.max(1, fitting))
}

/** Requests all texts before it awaits the first: one after another they would take a millisecond each. */
export async function readTexts(
  state: Pick<ReadableState, 'get'>,
  names: readonly string[],
  texts: SessionTexts,
): Promise<void> {
  const asked = [...new Set(names)].map((sha256) => ({ sha256, stored: state.get<StoredText>(textKey(sha256)) }))
  // The engine's promises must be awaited one at a time.
  for (const { sha256, stored } of asked) {
    const found = await stored
    if (found !== null) texts.add(sha256, found)
  }
}

/** Bytes of the long texts that were removed from a record. */
function longTextBytes(record: StoredRecord): number {
  return isPacked(record) ? record.texts.reduce((sum, { bytes }) => sum + bytes, 0) : 0
}

/** Restores the long texts of a record. A record that is too large for an answer is put into the payload store; without a store no record is that large. */
async function toServedRecord(
  record: StoredRecord,
  store: PayloadStore | undefined,
  texts: SessionTexts,
): Promise<ServedRecord> {
  if (!isPacked(record)) return record
  const whole = await unpackRecord(record, store, texts)
  return store !== undefined && longTextBytes(record) > maxInlineBytes ? store.put(JSON.stringify(whole)) : whole
}
