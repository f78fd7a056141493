import { HaltingError, type Json } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { storageFormat, newerFormatMessage } from './format.ts'
import { packRecord, unpackRecord, type StoredRecord, type Packing } from './packed-record.ts'
import { compressText, type SessionTexts, type StoredText } from './session-texts.ts'

/** What one durable step of the engine holds. */
interface Batch {
  readonly format: number
  /** When it was written, by the clock of its worker, in milliseconds since 1970. Batches of earlier versions have none. */
  readonly atMs?: number
  /** Long texts that its records name and that no batch before had, by their names. */
  readonly texts?: Readonly<Record<string, StoredText>>
  /** In the order in which they happened. */
  readonly records: readonly StoredRecord[]
  /** What the work says beside its records. It is about these, or those before. */
  readonly notes?: readonly Json[]
  /** After these nothing goes on until a message comes, or this many milliseconds have passed; null for a message alone. */
  readonly restMs?: number | null
  /** The handler is over, and this is what it gives back. */
  readonly done?: Json
}

/** A batch with its records whole. */
export interface DecodedBatch extends Omit<Batch, 'records'> {
  readonly records: readonly StepRecord[]
  /** As they are kept: what is large by reference. */
  readonly stored: readonly StoredRecord[]
}

/** The engine refuses a value of more than 32 MiB, again and again: none may get there. Of a batch, and so of each record in it. */
export const maxInlineBytes: number = 8 * 1024 * 1024

/** @throws HaltingError `driver` for a record that can be kept nowhere. */
export function checkSize(text: string, store: PayloadStore | undefined): void {
  // Each UTF-16 unit takes three bytes at most.
  if (store !== undefined || text.length * 3 <= maxInlineBytes) return
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxInlineBytes) return
  throw new HaltingError(
    'driver',
    `A record of ${bytes} bytes does not fit into the engine's journal, which takes ${maxInlineBytes}. Give the worker a payload store.`,
  )
}

/** A record as it goes into a batch: JSON, or a reference where that is large. */
export async function encodeRecord(text: string, store: PayloadStore | undefined): Promise<string> {
  if (store === undefined || Buffer.byteLength(text) <= store.inlineBytes) return text
  return JSON.stringify(await store.put(text))
}

/** A record that was packed, as it goes into a batch. Adds those of its texts to `apart` that neither the payload store nor the engine has. */
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

/** Records that an object is to keep, and the long texts that it keeps for them, by their names. */
export interface PackedRecords {
  readonly kept: readonly StoredRecord[]
  readonly texts: Readonly<Record<string, StoredText>>
}

/** Packs records that were written elsewhere: what is large of them is put where it is to be. */
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
    // It was just written.
    stored.push(JSON.parse(await encoded) as StoredRecord)
  }
  return { kept: stored, texts }
}

/** A batch as it was written. Its texts are added to those that are known. */
export async function decodeBatch(
  text: string,
  store: PayloadStore | undefined,
  known: SessionTexts,
): Promise<DecodedBatch> {
  // Only `ClusterLog.take` writes them.
  const batch = JSON.parse(text) as Batch
  if (batch.format > storageFormat) throw new HaltingError('driver', newerFormatMessage(batch.format))
  const { records: stored, ...rest } = batch
  for (const [sha256, text] of Object.entries(batch.texts ?? {})) known.add(sha256, text)
  return { ...rest, stored, records: await unpackRecords(stored, store, known) }
}

/** @throws HaltingError `driver` for a record that is in a store, where that is not given or does not have it. */
export function unpackRecords(
  stored: readonly StoredRecord[],
  store: PayloadStore | undefined,
  texts?: SessionTexts,
): Promise<readonly StepRecord[]> {
  return Promise.all(stored.map((record) => unpackRecord(record, store, texts)))
}
