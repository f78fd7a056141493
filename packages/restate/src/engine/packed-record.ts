import { HaltingError } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { isPayloadReference, type PayloadReference, type PayloadStore } from '../payloads/payload-store.ts'
import { textHash, type SessionTexts } from './session-texts.ts'

/** Texts of more UTF-16 units than this are stored once, whatever names them: shorter ones cost less where they are than by name. */
const longTextLength = 4096

/** A record without its long texts, and where each of these is. */
export interface PackedRecord {
  readonly type: 'packed'
  /** With an empty text in place of each long one. */
  readonly record: StepRecord
  readonly texts: readonly PlacedText[]
}

/** A text of a record. */
interface PlacedText {
  /** The fields and indices that lead to it. */
  readonly path: readonly (string | number)[]
  /** SHA-256 of its UTF-8, in hexadecimal. */
  readonly sha256: string
  /** Bytes of its UTF-8. */
  readonly bytes: number
  /** It is in the payload store; else it is with the session in the engine. */
  readonly inStore?: true
}

/** A record as others read it, or where all of it is. */
export type ServedRecord = StepRecord | PayloadReference
/** A record as the engine stores it. */
export type StoredRecord = ServedRecord | PackedRecord

export function isPacked(record: { readonly type: string }): record is PackedRecord {
  return record.type === 'packed'
}

/** A record that was packed, and the texts that it is without, by their names. */
export interface Packing {
  readonly packed: PackedRecord
  readonly texts: ReadonlyMap<string, string>
}

/** Packs a record, which is given as JSON. Undefined where it has no long text. */
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
    // It was just parsed, and is nobody else's.
    const fields = value as Record<string, unknown>
    for (const [key, field] of Object.entries(fields))
      // A field of this name cannot be set.
      if (key !== '__proto__') fields[key] = extractTexts(field, [...path, Array.isArray(value) ? Number(key) : key])
    return value
  }
  // It is the JSON of a record, with texts in place of texts.
  const record = extractTexts(JSON.parse(json), []) as StepRecord
  return placed.length === 0 ? undefined : { packed: { type: 'packed', record, texts: placed }, texts }
}

/** Names of the texts that the engine has of these records. */
export function engineTextNames(records: readonly StoredRecord[]): readonly string[] {
  return records.flatMap((record) =>
    isPacked(record) ? record.texts.flatMap(({ sha256, inStore }) => (inStore === true ? [] : [sha256])) : [],
  )
}

/** @throws HaltingError `driver` for a record, or a text of one, that is nowhere. */
export async function unpackRecord(
  stored: StoredRecord,
  store: PayloadStore | undefined,
  texts?: SessionTexts,
): Promise<StepRecord> {
  // `encodeRecord` put it there.
  if (isPayloadReference(stored))
    return unpackRecord(JSON.parse(await requireStore(store).get(stored)) as StoredRecord, store, texts)
  if (!isPacked(stored)) return stored
  const record = structuredClone(stored.record)
  for (const { path, sha256, bytes, inStore } of stored.texts) {
    if (inStore !== true && texts === undefined)
      throw new HaltingError('driver', 'Workers of a version that stores long texts apart wrote this record.')
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
  throw new HaltingError('driver', 'A record is in a payload store, and none is given.')
}

function setText(record: StepRecord, path: readonly (string | number)[], text: string): void {
  let at: unknown = record
  // `packed` found the text there.
  for (const key of path.slice(0, -1)) at = (at as Record<string | number, unknown>)[key]
  ;(at as Record<string | number, unknown>)[path.at(-1) ?? ''] = text
}
