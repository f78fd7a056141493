import type { StepRecord, StoredSessionInfo } from '@halting/core/steps'
import { JournalEncoder, type JournalPlace } from '../format/encoder.ts'
import { valueOf } from '../format/line.ts'
import type { Payload } from '../format/payloads.ts'
import { SameContents } from './same-contents.ts'

/** A record as the program puts it into a store: with when it was recorded, which stores keep as they do all else of it. */
export type TimedRecord = StepRecord & { readonly timestamp?: string }

/** Which state of a session a file is of. */
export interface CopiedState extends Pick<StoredSessionInfo, 'records' | 'updatedAt'> {
  /** Of the lines behind the first: a process that wrote more, or less, has changed the file. */
  readonly bytes: number
}

/** The file of a session in a store, as the program would have written it. */
export function journalOfRecords(
  place: JournalPlace,
  { createdAt, updatedAt, records: count }: Pick<StoredSessionInfo, 'createdAt' | 'updatedAt' | 'records'>,
  records: readonly TimedRecord[],
): { readonly bytes: Buffer; readonly payloads: readonly Payload[] } {
  const encoder = new JournalEncoder(place)
  // It counts as a line, as in every file.
  encoder.head(createdAt)
  const contents = new SameContents()
  const lines: Buffer[] = []
  const payloads: Payload[] = []
  let newest = createdAt
  for (const { timestamp, ...given } of records) {
    newest = timestamp ?? newest
    // What is left of it is the record.
    const encoded = encoder.linesOf(contents.record(given), newest)
    lines.push(Buffer.from(encoded.lines))
    payloads.push(...encoded.payloads)
  }
  const state: CopiedState = { records: count, updatedAt, bytes: lines.reduce((sum, each) => sum + each.length, 0) }
  const head = new JournalEncoder(place).head(createdAt, { stored: state })
  return { bytes: Buffer.concat([Buffer.from(head), ...lines]), payloads }
}

/** What the first line of such a file says, with how many bytes that line has. Undefined for any other file. */
export function copiedState(start: Buffer): (CopiedState & { readonly headBytes: number }) | undefined {
  const end = start.indexOf(10)
  if (end < 0) return undefined
  try {
    const { stored } = valueOf(start, 0, end) as { readonly stored?: CopiedState }
    return stored === undefined ? undefined : { ...stored, headBytes: end + 1 }
  } catch {
    return undefined
  }
}
