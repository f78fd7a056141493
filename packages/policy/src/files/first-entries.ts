import { type Dirent, opendirSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '@halting/core/adapters'
import { isExactPath } from './paths.ts'

/** The first entries of a folder, as the system gives them, and whether there are no others. */
export interface FirstEntries {
  /** The entries. */
  readonly entries: readonly Dirent[]
  /** Whether the folder has no others. */
  readonly isAll: boolean
}

/** A folder is listed again so often while its entries vanish. */
const maxListings = 10

/** Looks at so many entries and at no more: a folder may have millions. Throws as `readdirSync` does. Not all where entries vanish again and again. */
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
 * Whether one entry vanished while the folder was listed: Node looks at an entry of which the system does not tell the type, as of
 * a process in `/proc` that ends, and loses all others where it is gone.
 */
function hasVanished(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' && (error as NodeJS.ErrnoException).syscall === 'lstat'
}

/**
 * Everything in a folder, for whoever judges by it. Undefined where there is more, or a name that is not UTF-8: what has that name can be
 * neither looked at nor judged by a text, and a command may use it all the same. Throws as `readdirSync` does.
 */
export function allEntries(folder: string, most: number): readonly Dirent[] | undefined {
  const { entries, isAll } = firstEntries(folder, most)
  return isAll && entries.every(({ name }) => isExactPath(name)) ? entries : undefined
}

/** A path by its bytes, which the system takes also where they are not UTF-8, and as a text, to hold patterns against. */
export interface PathBytes {
  readonly bytes: Buffer
  readonly path: string
}

export interface EntryByBytes extends PathBytes {
  readonly entry: Dirent<Buffer>
}

/** The first entries of a folder, whatever their names are. Throws as `readdirSync` does, also where entries vanish again and again. */
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
  // True: Node gives names as buffers then, which its types know of `readdirSync` alone.
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
