import { readSync, type Stats } from 'node:fs'

// Files with private data of one user, which no other user may be able to change.

/** Returns why others can change a file; undefined if they cannot, or the system has no owners and modes. */
export function ownershipProblem(path: string, { uid, mode }: Stats): string | undefined {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  if (uid !== own) return `${path} belongs to another user (${uid}). Remove it, or set HALTING_CONFIG_DIR.`
  if ((mode & 0o022) === 0) return undefined
  return `${path} can be written by other users. Run: chmod go-w ${JSON.stringify(path)}`
}

/**
 * Reads up to this many bytes of an open file synchronously, into a new buffer or the beginning of `bytes`; fewer if
 * the file is shorter.
 */
export function readSized(file: number, maxBytes: number, bytes: Buffer = Buffer.allocUnsafe(maxBytes)): Buffer {
  let size = 0
  while (size < maxBytes) {
    const count = readSync(file, bytes, size, maxBytes - size, size)
    if (count === 0) break
    size += count
  }
  return bytes.subarray(0, size)
}
