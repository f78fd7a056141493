import { openRegular, longestLine } from '@halting/journal/files'

const chunkSize = 1024 * 1024
/** The size of the first read: many callers need only the first lines, which identify the format. */
const firstSize = 32 * 1024

/** What was read of a file, apart from its lines. */
export interface ReadLines {
  readonly bytes: number
  /** Numbers of lines that were skipped because they are too long. */
  readonly tooLong: readonly number[]
}

/**
 * Passes the lines of a file to `take`, one after another. Line ends, a byte order mark, blanks and zero bytes (which a crash may leave) are
 * stripped. Reading stops when `take` returns false. At most one chunk is read ahead.
 */
export async function eachLine(path: string, take: (line: string) => boolean | void): Promise<ReadLines> {
  const file = await openRegular(path)
  try {
    // Most files are short: large buffers for thousands of them would make the garbage collector run for each.
    let chunk = Buffer.allocUnsafe(firstSize)
    const { size } = await file.stat()
    let parts: Buffer[] = []
    let pendingBytes = 0
    let bytes = 0
    const tooLong: number[] = []
    let lines = 0
    let isFirst = true
    const pass = (line: Buffer): boolean => {
      const text = trimmed(isFirst ? withoutMark(line) : line)
      isFirst = false
      return text === '' || take(text) !== false
    }
    for (;;) {
      if (bytes === firstSize) chunk = Buffer.allocUnsafe(chunkSize)
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null)
      // A truncated file would look complete.
      if (bytesRead === 0 && bytes < size) throw new Error('it was truncated while it was being read')
      if (bytesRead === 0) break
      bytes += bytesRead
      let start = 0
      for (;;) {
        const end = chunk.indexOf(10, start)
        // Bytes after `bytesRead` belong to the previous chunk.
        if (end < 0 || end >= bytesRead) break
        const rest = chunk.subarray(start, end)
        start = end + 1
        lines++
        if (pendingBytes + rest.length > longestLine) tooLong.push(lines)
        else if (!pass(pendingBytes === 0 ? rest : Buffer.concat([...parts, rest]))) return { bytes, tooLong }
        parts = []
        pendingBytes = 0
      }
      pendingBytes += bytesRead - start
      // Of a line that is too long, only the length is stored.
      if (pendingBytes > longestLine) parts = []
      else if (bytesRead > start) parts.push(Buffer.from(chunk.subarray(start, bytesRead)))
    }
    if (pendingBytes > longestLine) tooLong.push(lines + 1)
    else if (pendingBytes > 0) pass(Buffer.concat(parts))
    return { bytes, tooLong }
  } finally {
    await file.close()
  }
}

function withoutMark(line: Buffer): Buffer {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line
}

function trimmed(line: Buffer): string {
  let [start, end] = [0, line.length]
  while (start < end && isBlank(line[start])) start++
  while (end > start && isBlank(line[end - 1])) end--
  return line.toString('utf8', start, end)
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0 || byte === 13 || byte === 32 || byte === 9
}
