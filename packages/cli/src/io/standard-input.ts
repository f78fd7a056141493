import { fstatSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'

/** Streams that are known to be empty. */
const emptyStreams = new WeakSet<NodeJS.ReadableStream>()

/** Whether this stream is known to be empty and need not be read. */
export function isEmptyInput(stdin: NodeJS.ReadableStream): boolean {
  return emptyStreams.has(stdin)
}

/** The standard input. For `/dev/null`, as scripts and services pass it, an ended stream without loading Node's file streams. */
export function standardInput(): NodeJS.ReadStream {
  if (!isNullDevice()) return process.stdin
  const empty = new Readable({
    read() {
      this.push(null)
    },
  })
  emptyStreams.add(empty)
  // Callers use no more of it than of a file stream, which is not a terminal either.
  return empty as NodeJS.ReadStream
}

function isNullDevice(): boolean {
  try {
    const { rdev, mode } = fstatSync(0)
    // A device number of zero means that the file is not a device.
    if (rdev === 0) return false
    const nothing = statSync('/dev/null')
    return rdev === nothing.rdev && mode === nothing.mode
  } catch {
    return false
  }
}
