import { codeOf } from '@halting/core/adapters'
import { createHash } from 'node:crypto'
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { inFolderSync, isOpenAt } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'

/** The state of a path, as far as it can be restored. */
export type PathState =
  | { readonly kind: 'absent' }
  /** `mode` is null if it was not known in advance; then modes are not compared. */
  | { readonly kind: 'file'; readonly sha256: string; readonly bytes: number; readonly mode: number | null }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'folder' }
  /** The content is not stored; `stamp` shows whether the file is unchanged. */
  | { readonly kind: 'unkept'; readonly why: string; readonly stamp: string }

export const absent: PathState = Object.freeze({ kind: 'absent' })

/** A state, with the content of a file. */
export interface PathContent {
  readonly state: PathState
  readonly content?: Buffer
}

/** Larger files are not stored. */
const largestStoredBytes: number = 64 * 1024 * 1024

/**
 * Returns the current state of a real path. Follows no link, neither in the last component nor in a parent folder that
 * is replaced meanwhile.
 */
export function stateAt(path: string, largestBytes: number = largestStoredBytes): PathContent {
  return readState(path, largestBytes, {
    isRequested: (file) => isOpenAt(file, path),
    targetOf: () => inFolderSync(path, (at) => readlinkSync(at)),
  })
}

/** The same for a name in an open folder: `PinnedFolder.pathOf`. */
export function stateInFolder(at: string): PathContent {
  return readState(at, largestStoredBytes, { isRequested: () => true, targetOf: () => readlinkSync(at) })
}

interface FileAccess {
  /** Whether the opened file is the requested one. */
  readonly isRequested: (file: number) => boolean
  readonly targetOf: () => string | undefined
}

function readState(path: string, largestBytes: number, { isRequested: isIt, targetOf }: FileAccess): PathContent {
  const stats = statsAt(path)
  if (stats === undefined) return { state: absent }
  if (stats.isSymbolicLink()) {
    const target = targetOf()
    return { state: target === undefined ? absent : { kind: 'link', target } }
  }
  if (stats.isDirectory()) return { state: { kind: 'folder' } }
  const unkept = (why: string): PathContent => ({ state: { kind: 'unkept', why, stamp: stampOf(stats) } })
  // Opening a pipe or device may block forever or have side effects.
  if (!stats.isFile()) return unkept('is not a regular file')
  if (stats.size > largestBytes)
    return unkept(
      largestBytes < 0 ? 'exceeded the size limit for saved files' : `is larger than ${sizeText(largestBytes)}`,
    )
  try {
    // Thousands of small files are read at once: promises would take most of the time.
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      if (!isIt(file)) return { state: absent }
      const content = readFileSync(file)
      const mode = fstatSync(file).mode & 0o7777
      return { state: { kind: 'file', sha256: sha256Of(content), bytes: content.length, mode }, content }
    } finally {
      closeSync(file)
    }
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return { state: absent }
    return unkept(`cannot be read (${codeOf(thrown) ?? 'unknown'})`)
  }
}

/** The same, but the path counts as absent if a parent folder is a link. */
export function stateInPlace(path: string, largestBytes?: number): PathContent {
  return isInPlace(path) ? stateAt(path, largestBytes) : { state: absent }
}

/** Whether no parent folder is a link. The path was real when it was recorded. */
export function isInPlace(path: string): boolean {
  const folder = dirname(path)
  return realPath(folder) === folder
}

/** Undefined if nothing exists at the path, or if a parent is not a folder. */
export function statsAt(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOTDIR') return undefined
    throw thrown
  }
}

/** Changes when a file is written, moved or given another mode, as far as the file system reports it. */
export function stampOf({ mtimeNs, ctimeNs, size, ino, mode }: BigIntStats): string {
  return `${mtimeNs} ${ctimeNs} ${size} ${ino} ${mode}`
}

export function isSameState(a: PathState, b: PathState): boolean {
  switch (a.kind) {
    case 'absent':
    case 'folder':
      return a.kind === b.kind
    case 'file':
      return b.kind === 'file' && a.sha256 === b.sha256 && (a.mode === null || b.mode === null || a.mode === b.mode)
    case 'link':
      return b.kind === 'link' && a.target === b.target
    case 'unkept':
      return b.kind === 'unkept' && a.stamp === b.stamp
  }
}

export function sha256Of(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

export function sizeText(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${Math.round(bytes / 1024 / 1024)} MB` : `${Math.ceil(bytes / 1024)} KB`
}
