import { HaltingError, type Json } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { keptFormat, laterFormat } from './format.ts'
import { wholeRecord, type KeptRecord } from './packed-record.ts'
import type { SessionTexts, StoredText } from './session-texts.ts'

/** What one durable step of the engine holds. */
interface Batch {
  readonly format: number
  /** When it was written, by the clock of its worker, in milliseconds since 1970. Batches of earlier versions have none. */
  readonly atMs?: number
  /** Long texts that its records name and that no batch before had, by their names. */
  readonly texts?: Readonly<Record<string, StoredText>>
  /** In the order in which they happened. */
  readonly records: readonly KeptRecord[]
  /** What the work says beside its records. It is about these, or those before. */
  readonly notes?: readonly Json[]
  /** After these nothing goes on until a message comes, or this many milliseconds have passed; null for a message alone. */
  readonly restMs?: number | null
  /** The handler is over, and this is what it gives back. */
  readonly done?: Json
}

/** A batch with its records whole. */
export interface ReadBatch extends Omit<Batch, 'records'> {
  readonly records: readonly StepRecord[]
  /** As they are kept: what is large by reference. */
  readonly kept: readonly KeptRecord[]
}

/** The engine refuses a value of more than 32 MiB, again and again: none may get there. Of a batch, and so of each record in it. */
export const mostInlineBytes: number = 8 * 1024 * 1024

/** @throws HaltingError `driver` for a record that can be kept nowhere. */
export function checkSize(text: string, store: PayloadStore | undefined): void {
  // Each UTF-16 unit takes three bytes at most.
  if (store !== undefined || text.length * 3 <= mostInlineBytes) return
  const bytes = Buffer.byteLength(text)
  if (bytes <= mostInlineBytes) return
  throw new HaltingError(
    'driver',
    `A record of ${bytes} bytes does not fit into the engine's journal, which takes ${mostInlineBytes}. Give the worker a payload store.`,
  )
}

/** A record as it goes into a batch: JSON, or a reference where that is large. */
export async function writtenRecord(text: string, store: PayloadStore | undefined): Promise<string> {
  if (store === undefined || Buffer.byteLength(text) <= store.inlineBytes) return text
  return JSON.stringify(await store.put(text))
}

/** A batch as it was written. Its texts are added to those that are known. */
export async function readBatch(
  text: string,
  store: PayloadStore | undefined,
  known: SessionTexts,
): Promise<ReadBatch> {
  // Only `ClusterLog.take` writes them.
  const batch = JSON.parse(text) as Batch
  if (batch.format > keptFormat) throw new HaltingError('driver', laterFormat(batch.format))
  const { records: kept, ...rest } = batch
  for (const [sha256, stored] of Object.entries(batch.texts ?? {})) known.add(sha256, stored)
  return { ...rest, kept, records: await wholeRecords(kept, store, known) }
}

/** @throws HaltingError `driver` for a record that is in a store, where that is not given or does not have it. */
export function wholeRecords(
  kept: readonly KeptRecord[],
  store: PayloadStore | undefined,
  texts?: SessionTexts,
): Promise<readonly StepRecord[]> {
  return Promise.all(kept.map((record) => wholeRecord(record, store, texts)))
}
