import type { OpenFile } from '@halting/policy/files'

const unknownBytes = 64 * 1024

/**
 * All bytes of a file from its current position; undefined if there are more than `maxBytes`. The reported size is
 * not a bound: a file may grow while it is read, and system files, some of them endless, report a size of 0.
 */
export async function readAtMost(
  file: Pick<OpenFile, 'read'>,
  size: number,
  maxBytes: number,
): Promise<Buffer | undefined> {
  // One byte more, so that the end of the file is detected.
  let buffer = Buffer.allocUnsafeSlow(Math.min(size === 0 ? unknownBytes : size + 1, maxBytes + 1))
  let length = 0
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length)
    length += bytesRead
    if (bytesRead === 0) return buffer.subarray(0, length)
    if (length > maxBytes) return undefined
    if (length === buffer.length) buffer = Buffer.concat([buffer], Math.min(2 * length, maxBytes + 1))
  }
}
