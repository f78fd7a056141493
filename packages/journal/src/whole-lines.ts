import { messageOf } from '@halting/core/adapters'
import { openRegular } from './files/regular-file.ts'
import type { JournalDecoder } from './format/decoder.ts'
import { JournalEncoder, type Fields } from './format/encoder.ts'
import { lineOfJson, valueOf } from './format/line.ts'
import { payloadsFolder, withPayloads } from './format/payloads.ts'
import { parseJournal, journalError, truncatedProblem } from './read-journal.ts'

/** Characters that some readers treat as line breaks, and that JSON does not escape. */
const breaks = /[\u0085\u2028\u2029]/g

/**
 * Returns the lines of a session as one self-contained file in the first format: with long texts in place instead of in
 * separate files, and with the fields that other programs expect. It can be read as a session, also by readers that
 * recognize other line breaks.
 * @throws HaltingError `driver` if it cannot be read, as `readJournal` does.
 */
export async function wholeLines(path: string): Promise<Iterable<string>> {
  const bytes = await bytesOf(path)
  const read = parseJournal(bytes, path)
  const { written, wholeBytes } = read
  return written.format === 1
    ? linesOf(bytes, wholeBytes, payloadsFolder(path))
    : longLinesOf(valueOf(bytes, 0, bytes.indexOf(10)), written as JournalDecoder)
}

/** Converts a file of a later format: writes its records again, with their times. */
function* longLinesOf(head: Fields, { records, times }: JournalDecoder): Iterable<string> {
  const { sum: _sum, ...first } = head
  yield withoutBreaks(JSON.stringify({ ...first, format: 1 }))
  const place = { sessionId: String(head['sessionId']), cwd: String(head['cwd']), version: String(head['version']) }
  const encoder = new JournalEncoder(place, undefined, Infinity, 1)
  encoder.head()
  for (const [index, record] of records.entries())
    for (const line of encoder.wholeLinesOf(record, times[index])) yield withoutBreaks(line)
}

async function bytesOf(path: string): Promise<Buffer> {
  let read: { readonly size: number; readonly bytes: Buffer }
  try {
    const file = await openRegular(path)
    try {
      read = { size: (await file.stat()).size, bytes: await file.readFile() }
    } finally {
      await file.close()
    }
  } catch (error) {
    throw journalError(path, `cannot be read: ${messageOf(error)}`, error)
  }
  if (read.bytes.length < read.size) throw journalError(path, truncatedProblem)
  return read.bytes
}

function* linesOf(bytes: Buffer, wholeBytes: number, folder: string): Iterable<string> {
  for (let start = 0; start < wholeBytes;) {
    const end = bytes.indexOf(10, start)
    const { sum: _sum, ...value } = valueOf(bytes, start, end)
    start = end + 1
    // Its offsets refer to the original file.
    if ('fold' in value) continue
    yield withoutBreaks(JSON.stringify(withPayloads(value, folder)))
  }
}

function withoutBreaks(json: string): string {
  return lineOfJson(json.replaceAll(breaks, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`))
}
