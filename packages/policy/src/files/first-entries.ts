import { type Dirent, opendirSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '@halting/core/adapters'
import { isExactPath } from './paths.ts'

/** The first entries of a folder, in the order of the file system, and whether there are more. */
export interface FirstEntries {
  /** The entries. */
  readonly entries: readonly Dirent[]
  /** Whether these are all entries of the folder. */
  readonly isAll: boolean
}

/** How often a folder is listed again because entries vanish while it is read. */
const maxListings = 10

/** Reads at most `most` entries, as a folder may have millions. Throws as `readdirSync` does. `isAll` is false if entries vanish again and again. */
export function firstEntries(folder: string, most: number): FirstEntries {
  for (let listing = 0; listing < maxListings; listing += 1)
    try {
      return listedOnce(folder, most)
    } catch (error) {
      if (!hasVanished(error)) throw error
    }
  return { entries: [], isAll: false }
}

function listedOnce(folder: string, most: number): FirstEntries {
  const entries: Dirent[] = []
  const open = opendirSync(folder, { bufferSize: Math.max(1, Math.min(most, 1_000)) })
  try {
    for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
      if (entries.length >= most) return { entries, isAll: false }
      entries.push(entry)
    }
  } finally {
    open.closeSync()
  }
  return { entries, isAll: true }
}

/**
 * Whether an entry vanished while the folder was listed. If the system does not report the type of an entry, Node inspects it (for example a process
 * in `/proc`). If the entry is gone by then, Node loses all others too.
 */
function hasVanished(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' && (error as NodeJS.ErrnoException).syscall === 'lstat'
}

/**
 * All entries of a folder, for security checks. Undefined if there are more than `most`, or if a name is not UTF-8: no
 * string can name such an entry, but a command can use it. Throws as `readdirSync` does.
 */
export function allEntries(folder: string, most: number): readonly Dirent[] | undefined {
  const { entries, isAll } = firstEntries(folder, most)
  return isAll && entries.every(({ name }) => isExactPath(name)) ? entries : undefined
}

/** A path as bytes, which may be invalid UTF-8, and as text, to match patterns against. */
export interface PathBytes {
  readonly bytes: Buffer
  readonly path: string
}

export interface EntryByBytes extends PathBytes {
  readonly entry: Dirent<Buffer>
}

/** The first entries of a folder, whatever bytes their names have. Throws as `readdirSync` does, also if entries vanish again and again. */
export function entriesByBytes(folder: PathBytes, most: number): readonly EntryByBytes[] {
  for (let listing = 1; listing < maxListings; listing += 1)
    try {
      return bytesListedOnce(folder, most)
    } catch (error) {
      if (!hasVanished(error)) throw error
    }
  return bytesListedOnce(folder, most)
}

function bytesListedOnce(folder: PathBytes, most: number): readonly EntryByBytes[] {
  // This cast is safe: with this option Node returns names as buffers. Node's types declare that overload for `readdirSync` only.
  const options = { encoding: 'buffer' as BufferEncoding, bufferSize: Math.max(1, Math.min(most, 1_000)) }
  const open = opendirSync(folder.bytes, options)
  const next = (): Dirent<Buffer> | null => open.readSync() as unknown as Dirent<Buffer> | null
  const found: EntryByBytes[] = []
  try {
    for (let entry = next(); entry !== null && found.length < most; entry = next()) {
      const bytes = Buffer.concat([folder.bytes, Buffer.from('/'), entry.name])
      found.push({ bytes, path: join(folder.path, entry.name.toString()), entry })
    }
  } finally {
    open.closeSync()
  }
  return found
}
