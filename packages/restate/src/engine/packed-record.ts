import { HaltingError } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { isPayloadReference, type PayloadReference, type PayloadStore } from '../payloads/payload-store.ts'
import { textHash, type SessionTexts } from './session-texts.ts'

/** Texts of more UTF-16 units than this are stored once and referred to by hash. Shorter ones are cheaper inline. */
const longTextLength = 4096

/** A record without its long texts, and where each of them is. */
export interface PackedRecord {
  readonly type: 'packed'
  /** The record with an empty text in place of each long one. */
  readonly record: StepRecord
  readonly texts: readonly PlacedText[]
}

/** A long text of a record. */
interface PlacedText {
  /** The fields and indices that lead to it. */
  readonly path: readonly (string | number)[]
  /** SHA-256 of its UTF-8, in hexadecimal. */
  readonly sha256: string
  /** Bytes of its UTF-8. */
  readonly bytes: number
  /** Whether the text is in the payload store; otherwise the engine stores it with the session. */
  readonly inStore?: true
}

/** A record for readers, or a reference to where it is. */
export type ServedRecord = StepRecord | PayloadReference
/** A record as the engine stores it. */
export type StoredRecord = ServedRecord | PackedRecord

export function isPacked(record: { readonly type: string }): record is PackedRecord {
  return record.type === 'packed'
}

/** A packed record and the texts removed from it, by hash. */
export interface Packing {
  readonly packed: PackedRecord
  readonly texts: ReadonlyMap<string, string>
}

/** Packs a record given as JSON. Undefined if it has no long text. */
export function packRecord(json: string, store: Pick<PayloadStore, 'inlineBytes'> | undefined): Packing | undefined {
  if (json.length <= longTextLength) return undefined
  const placed: PlacedText[] = []
  const texts = new Map<string, string>()
  const extractTexts = (value: unknown, path: readonly (string | number)[]): unknown => {
    if (typeof value === 'string') {
      if (value.length <= longTextLength) return value
      const sha256 = textHash(value)
      const bytes = Buffer.byteLength(value)
      const inStore = store !== undefined && bytes > store.inlineBytes
      placed.push({ path, sha256, bytes, ...(inStore && { inStore }) })
      texts.set(sha256, value)
      return ''
    }
    if (typeof value !== 'object' || value === null) return value
    // It was just parsed, and nothing else refers to it.
    const fields = value as Record<string, unknown>
    for (const [key, field] of Object.entries(fields))
      // A field of this name cannot be set.
      if (key !== '__proto__') fields[key] = extractTexts(field, [...path, Array.isArray(value) ? Number(key) : key])
    return value
  }
  // This cast is safe: it is the JSON of a record in which texts were replaced by texts.
  const record = extractTexts(JSON.parse(json), []) as StepRecord
  return placed.length === 0 ? undefined : { packed: { type: 'packed', record, texts: placed }, texts }
}

/** Hashes of the texts of these records that the engine stores. */
export function engineTextNames(records: readonly StoredRecord[]): readonly string[] {
  return records.flatMap((record) =>
    isPacked(record) ? record.texts.flatMap(({ sha256, inStore }) => (inStore === true ? [] : [sha256])) : [],
  )
}

/** @throws HaltingError `driver` for a record or text that is missing. */
export async function unpackRecord(
  stored: StoredRecord,
  store: PayloadStore | undefined,
  texts?: SessionTexts,
): Promise<StepRecord> {
  // This cast is safe: `encodeRecord` wrote the value.
  if (isPayloadReference(stored))
    return unpackRecord(JSON.parse(await requireStore(store).get(stored)) as StoredRecord, store, texts)
  if (!isPacked(stored)) return stored
  const record = structuredClone(stored.record)
  for (const { path, sha256, bytes, inStore } of stored.texts) {
    if (inStore !== true && texts === undefined)
      throw new HaltingError(
        'driver',
        'Workers of a newer version wrote this record: its long texts are stored separately.',
      )
    setText(
      record,
      path,
      inStore === true ? await requireStore(store).get({ type: 'payload', sha256, bytes }) : (texts?.get(sha256) ?? ''),
    )
  }
  return record
}

function requireStore(store: PayloadStore | undefined): PayloadStore {
  if (store !== undefined) return store
  throw new HaltingError(
    'driver',
    'A record is in a payload store, and this program has none. Configure the store of the workers.',
  )
}

function setText(record: StepRecord, path: readonly (string | number)[], text: string): void {
  let at: unknown = record
  // This cast is safe: `packRecord` found the text at this path.
  for (const key of path.slice(0, -1)) at = (at as Record<string | number, unknown>)[key]
  ;(at as Record<string | number, unknown>)[path.at(-1) ?? ''] = text
}
