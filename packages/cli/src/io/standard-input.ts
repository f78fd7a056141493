import { fstatSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'

/** Streams of which is known that nothing comes. */
const emptyStreams = new WeakSet<NodeJS.ReadableStream>()

/** Whether nothing comes on this stream: it need not be read. */
export function isEmptyInput(stdin: NodeJS.ReadableStream): boolean {
  return emptyStreams.has(stdin)
}

/**
 * What comes on stdin. Where that is `/dev/null`, as for programs that are started by others, nothing does: a stream that has ended, without what Node loads to
 * read a file.
 */
export function standardInput(): NodeJS.ReadStream {
  if (!isNullDevice()) return process.stdin
  const empty = new Readable({
    read() {
      this.push(null)
    },
  })
  emptyStreams.add(empty)
  // Nobody asks more of it than of a stream of a file, which is no terminal either.
  return empty as NodeJS.ReadStream
}

function isNullDevice(): boolean {
  try {
    const { rdev, mode } = fstatSync(0)
    // Zero for what is no device.
    if (rdev === 0) return false
    const nothing = statSync('/dev/null')
    return rdev === nothing.rdev && mode === nothing.mode
  } catch {
    return false
  }
}
