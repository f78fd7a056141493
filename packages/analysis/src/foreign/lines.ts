import { openRegular, longestLine } from '@halting/journal/files'

const chunkSize = 1024 * 1024
/** The first lines tell whose file it is, and many ask for no more. */
const firstSize = 32 * 1024

/** What is told of the lines of a file. */
export interface ReadLines {
  readonly bytes: number
  /** The numbers of lines that are too long to be read. */
  readonly tooLong: readonly number[]
}

/**
 * Gives the lines of a file to `take` one after another, without what ends them, a mark of their order of bytes at the beginning, and zero bytes
 * around them, which a crash may leave. `take` answers false when it has seen enough. Reads ahead by one part of the file, however large that is.
 */
export async function eachLine(path: string, take: (line: string) => boolean | void): Promise<ReadLines> {
  const file = await openRegular(path)
  try {
    // Most files are short, and of a thousand of them large ones would have the garbage collector run for each.
    let chunk = Buffer.allocUnsafe(firstSize)
    const { size } = await file.stat()
    let parts: Buffer[] = []
    let held = 0
    let bytes = 0
    const tooLong: number[] = []
    let lines = 0
    let isFirst = true
    const give = (line: Buffer): boolean => {
      const text = trimmed(isFirst ? withoutMark(line) : line)
      isFirst = false
      return text === '' || take(text) !== false
    }
    for (;;) {
      if (bytes === firstSize) chunk = Buffer.allocUnsafe(chunkSize)
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null)
      // What is left would look like all of it.
      if (bytesRead === 0 && bytes < size) throw new Error('it was cut while it was read')
      if (bytesRead === 0) break
      bytes += bytesRead
      let start = 0
      for (;;) {
        const end = chunk.indexOf(10, start)
        // What stands behind `bytesRead` is of the part before.
        if (end < 0 || end >= bytesRead) break
        const rest = chunk.subarray(start, end)
        start = end + 1
        lines++
        if (held + rest.length > longestLine) tooLong.push(lines)
        else if (!give(held === 0 ? rest : Buffer.concat([...parts, rest]))) return { bytes, tooLong }
        parts = []
        held = 0
      }
      held += bytesRead - start
      // Of one that is too long nothing is kept, only that it goes on.
      if (held > longestLine) parts = []
      else if (bytesRead > start) parts.push(Buffer.from(chunk.subarray(start, bytesRead)))
    }
    if (held > longestLine) tooLong.push(lines + 1)
    else if (held > 0) give(Buffer.concat(parts))
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
