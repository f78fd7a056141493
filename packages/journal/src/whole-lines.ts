import { messageOf } from '@halting/core/adapters'
import { openRegular } from './files/regular-file.ts'
import type { JournalDecoder } from './format/decoder.ts'
import { JournalEncoder, type Fields } from './format/encoder.ts'
import { lineOfJson, valueOf } from './format/line.ts'
import { payloadsFolder, withPayloads } from './format/payloads.ts'
import { parseJournal, journalError, truncatedProblem } from './read-journal.ts'

/** Some readers take these for the end of a line; JSON may hold them as they are. */
const breaks = /[\u0085\u2028\u2029]/g

/**
 * The lines of a session as one file that stands by itself, in the first version of the format: long texts stand in their places, not in files beside it, and
 * each message has what readers of other programs look for. What reads a session reads it, and every line is one for readers that know other ends of lines.
 * @throws HaltingError `driver` for what cannot be read, as `readJournal` does.
 */
export async function wholeLines(path: string): Promise<Iterable<string>> {
  const bytes = await bytesOf(path)
  const read = parseJournal(bytes, path)
  const { written, wholeBytes } = read
  return written.format === 1
    ? linesOf(bytes, wholeBytes, payloadsFolder(path))
    : longLinesOf(valueOf(bytes, 0, bytes.indexOf(10)), written as JournalDecoder)
}

/** The same of a file of a later format: its records are written anew, each at its time. */
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
    // Places in a file that is another one.
    if ('fold' in value) continue
    yield withoutBreaks(JSON.stringify(withPayloads(value, folder)))
  }
}

function withoutBreaks(json: string): string {
  return lineOfJson(json.replaceAll(breaks, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`))
}
