import { HaltingError, type Json } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { keptFormat, laterFormat } from './format.ts'
import { isPayloadReference, type PayloadReference, type PayloadStore } from '../payloads/payload-store.ts'

/** What one durable step of the engine holds. */
interface Batch {
  readonly format: number
  /** When it was written, by the clock of its worker, in milliseconds since 1970. Batches of earlier versions have none. */
  readonly atMs?: number
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

/** A record, or where it is. */
export type KeptRecord = StepRecord | PayloadReference

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

/** A batch as it was written. */
export async function readBatch(text: string, store: PayloadStore | undefined): Promise<ReadBatch> {
  // Only `ClusterLog.take` writes them.
  const batch = JSON.parse(text) as Batch
  if (batch.format > keptFormat) throw new HaltingError('driver', laterFormat(batch.format))
  const { records: kept, ...rest } = batch
  return { ...rest, kept, records: await wholeRecords(kept, store) }
}

/** @throws HaltingError `driver` for a record that is in a store, where that is not given or does not have it. */
export function wholeRecords(
  kept: readonly KeptRecord[],
  store: PayloadStore | undefined,
): Promise<readonly StepRecord[]> {
  return Promise.all(
    kept.map(async (record) => {
      if (!isPayloadReference(record)) return record
      if (store === undefined) throw new HaltingError('driver', 'A record is in a payload store, and none is given.')
      return JSON.parse(await store.get(record)) as StepRecord
    }),
  )
}
