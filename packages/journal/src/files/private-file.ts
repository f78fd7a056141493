import { readSync, type Stats } from 'node:fs'

// Files in which a program keeps what it goes by for one person: nobody else may have a say in them.

/** Why others have a say in a file, in a sentence; undefined where they have none, or where the system has no owners and modes. */
export function othersProblem(path: string, { uid, mode }: Stats): string | undefined {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  if (uid !== own) return `${path} belongs to another user (${uid}). Remove it, or set HALTING_CONFIG_DIR.`
  if ((mode & 0o022) === 0) return undefined
  return `${path} can be written by other users. Run: chmod go-w ${JSON.stringify(path)}`
}

/** The first so many bytes of an open file, at once, in a buffer of their own or at the beginning of `bytes`; fewer where the file ends before. */
export function readSized(file: number, mostBytes: number, bytes: Buffer = Buffer.allocUnsafe(mostBytes)): Buffer {
  let size = 0
  while (size < mostBytes) {
    const count = readSync(file, bytes, size, mostBytes - size, size)
    if (count === 0) break
    size += count
  }
  return bytes.subarray(0, size)
}
