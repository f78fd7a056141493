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

/** Records of a session, in order. */
export interface RecordsPage {
  /** Number of the first of the records. */
  readonly first: number
  /** The records. */
  readonly records: readonly ServedRecord[]
}

/** The same as an object stores them. */
export interface StoredRecordsPage {
  readonly first: number
  readonly records: readonly StoredRecord[]
}

/** What can be read of an object. */
export interface ReadableState {
  get<T>(key: string): Promise<T | null>
  stateKeys(): Promise<readonly string[]>
}

/** An answer has about so many bytes, but for a record that is larger: the keys are listed once for each. */
const maxAnswerBytes = 1024 * 1024
/** So many keys are asked for at once at most. */
const maxKeysAhead = 64

/** In the order of their numbers as text, too. */
export function recordsKey(first: number): string {
  return `records/${String(first).padStart(9, '0')}`
}

/** Records from this number on, as many as one answer takes; none at the end. Long texts that are stored apart are in their places. */
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
    // The engine's promises are awaited one at a time.
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

/** How many keys more may fit, after so many with so many bytes: asked for one after another they would take milliseconds each. */
function keysAhead(count: number, bytes: number): number {
  const fitting = Math.floor(((maxAnswerBytes - bytes) * count) / Math.max(1, bytes))
  return Math.min(maxKeysAhead, Math.max(1, fitting))
}

/** Asks for all of them before it waits for the first: one after another they would take a millisecond each. */
export async function readTexts(
  state: Pick<ReadableState, 'get'>,
  names: readonly string[],
  texts: SessionTexts,
): Promise<void> {
  const asked = [...new Set(names)].map((sha256) => ({ sha256, stored: state.get<StoredText>(textKey(sha256)) }))
  // The engine's promises are awaited one at a time.
  for (const { sha256, stored } of asked) {
    const found = await stored
    if (found !== null) texts.add(sha256, found)
  }
}

/** Bytes of the texts that a record is without. */
function longTextBytes(record: StoredRecord): number {
  return isPacked(record) ? record.texts.reduce((sum, { bytes }) => sum + bytes, 0) : 0
}

/** With its long texts; one that is too large for an answer, which only a payload store makes possible, is put there. */
async function toServedRecord(
  record: StoredRecord,
  store: PayloadStore | undefined,
  texts: SessionTexts,
): Promise<ServedRecord> {
  if (!isPacked(record)) return record
  const whole = await unpackRecord(record, store, texts)
  return store !== undefined && longTextBytes(record) > maxInlineBytes ? store.put(JSON.stringify(whole)) : whole
}
