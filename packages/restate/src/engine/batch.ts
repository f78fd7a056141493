import { HaltingError, type Json } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { storageFormat, newerFormatMessage } from './format.ts'
import { packRecord, unpackRecord, type StoredRecord, type Packing } from './packed-record.ts'
import { compressText, type SessionTexts, type StoredText } from './session-texts.ts'

/** The content of one durable step of the engine. */
interface Batch {
  readonly format: number
  /** When the worker wrote it, in milliseconds since 1970. Absent in batches of earlier versions. */
  readonly atMs?: number
  /** Long texts that its records refer to and that no earlier batch had, by hash. */
  readonly texts?: Readonly<Record<string, StoredText>>
  /** Records in the order in which they happened. */
  readonly records: readonly StoredRecord[]
  /** Notes of the work in addition to its records. They refer to these or to earlier records. */
  readonly notes?: readonly Json[]
  /** Set if nothing happens after these records until a message arrives or this many milliseconds have passed; null for a message only. */
  readonly restMs?: number | null
  /** The handler is over; this is what it returns. */
  readonly done?: Json
}

/** A batch with complete records. */
export interface DecodedBatch extends Omit<Batch, 'records'> {
  readonly records: readonly StepRecord[]
  /** The records as stored: large ones by reference. */
  readonly stored: readonly StoredRecord[]
}

/**
 * Maximum size of a batch, and so of each record in it. The engine refuses a value of more than 32 MiB at every attempt,
 * so no batch may reach that size.
 */
export const maxInlineBytes: number = 8 * 1024 * 1024

/** @throws HaltingError `driver` for a record that is too large to be stored. */
export function checkSize(text: string, store: PayloadStore | undefined): void {
  // Each UTF-16 unit takes at most three bytes.
  if (store !== undefined || text.length * 3 <= maxInlineBytes) return
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxInlineBytes) return
  throw new HaltingError(
    'driver',
    `A record of ${bytes} bytes does not fit into the engine's journal, which takes ${maxInlineBytes}. Give the worker a payload store.`,
  )
}

/** Encodes a record for a batch: as JSON or, if it is large, as a reference. */
export async function encodeRecord(text: string, store: PayloadStore | undefined): Promise<string> {
  if (store === undefined || Buffer.byteLength(text) <= store.inlineBytes) return text
  return JSON.stringify(await store.put(text))
}

/** Encodes a packed record for a batch. Adds to `newTexts` those of its texts that neither the payload store nor the engine has. */
export async function encodePackedRecord(
  { packed: without, texts }: Packing,
  store: PayloadStore | undefined,
  newTexts: { [sha256: string]: StoredText },
  known?: Pick<SessionTexts, 'has'>,
): Promise<string> {
  for (const { sha256, inStore } of without.texts) {
    const long = texts.get(sha256) ?? ''
    if (inStore === true) await store?.put(long)
    else if (known?.has(sha256) !== true) newTexts[sha256] ??= await compressText(long)
  }
  return encodeRecord(JSON.stringify(without), store)
}

/** Records to store in an object, and their long texts, by hash. */
export interface PackedRecords {
  readonly kept: readonly StoredRecord[]
  readonly texts: Readonly<Record<string, StoredText>>
}

/** Packs records that were written elsewhere, and stores their large parts. */
export async function packRecords(
  records: readonly StepRecord[],
  store: PayloadStore | undefined,
): Promise<PackedRecords> {
  const texts: { [sha256: string]: StoredText } = {}
  const stored: StoredRecord[] = []
  for (const record of records) {
    const json = JSON.stringify(record)
    const packing = packRecord(json, store)
    const encoded = packing === undefined ? encodeRecord(json, store) : encodePackedRecord(packing, store, texts)
    // This cast is safe: the text was just written by `encodeRecord`.
    stored.push(JSON.parse(await encoded) as StoredRecord)
  }
  return { kept: stored, texts }
}

/** Decodes a batch. Adds its texts to the known ones. */
export async function decodeBatch(
  text: string,
  store: PayloadStore | undefined,
  known: SessionTexts,
): Promise<DecodedBatch> {
  // Only `ClusterLog.take` writes batches.
  const batch = JSON.parse(text) as Batch
  if (batch.format > storageFormat) throw new HaltingError('driver', newerFormatMessage(batch.format))
  const { records: stored, ...rest } = batch
  for (const [sha256, text] of Object.entries(batch.texts ?? {})) known.add(sha256, text)
  return { ...rest, stored, records: await unpackRecords(stored, store, known) }
}

/** @throws HaltingError `driver` for a record in a payload store if no store is given or it lacks the record. */
export function unpackRecords(
  stored: readonly StoredRecord[],
  store: PayloadStore | undefined,
  texts?: SessionTexts,
): Promise<readonly StepRecord[]> {
  return Promise.all(stored.map((record) => unpackRecord(record, store, texts)))
}
