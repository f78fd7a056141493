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

/** What stands at a path, as far as it can be brought back. */
export type KeptState =
  | { readonly kind: 'absent' }
  /** `mode` is null where it was not known in advance; then it is not compared. */
  | { readonly kind: 'file'; readonly sha256: string; readonly bytes: number; readonly mode: number | null }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'folder' }
  /** It is there and its content is not kept; `stamp` tells whether it is still the same. */
  | { readonly kind: 'unkept'; readonly why: string; readonly stamp: string }

export const absent: KeptState = Object.freeze({ kind: 'absent' })

/** A state, and the content of a file. */
export interface SeenState {
  readonly state: KeptState
  readonly content?: Buffer
}

/** Files larger than this are not kept. */
const largestKeptBytes: number = 64 * 1024 * 1024

/** What is at a real path now. No link is followed: not the last part of it, and none that comes in the place of a folder above meanwhile. */
export function stateAt(path: string, largestBytes: number = largestKeptBytes): SeenState {
  return stateBy(path, largestBytes, {
    isIt: (file) => isOpenAt(file, path),
    targetOf: () => inFolderSync(path, (at) => readlinkSync(at)),
  })
}

/** The same of a name in a folder that is held: `HeldFolder.pathOf`. */
export function stateInFolder(at: string): SeenState {
  return stateBy(at, largestKeptBytes, { isIt: () => true, targetOf: () => readlinkSync(at) })
}

interface Ways {
  /** Whether what was opened is what is asked about. */
  readonly isIt: (file: number) => boolean
  readonly targetOf: () => string | undefined
}

function stateBy(path: string, largestBytes: number, { isIt, targetOf }: Ways): SeenState {
  const stats = statsAt(path)
  if (stats === undefined) return { state: absent }
  if (stats.isSymbolicLink()) {
    const target = targetOf()
    return { state: target === undefined ? absent : { kind: 'link', target } }
  }
  if (stats.isDirectory()) return { state: { kind: 'folder' } }
  const unkept = (why: string): SeenState => ({ state: { kind: 'unkept', why, stamp: stampOf(stats) } })
  // Opening a pipe or a device may wait for ever, or do something.
  if (!stats.isFile()) return unkept('is not a regular file')
  if (stats.size > largestBytes)
    return unkept(
      largestBytes < 0 ? 'exceeded the size limit for saved files' : `is larger than ${sizeText(largestBytes)}`,
    )
  try {
    // Thousands of small files are read at once: the way there and back of a promise would be most of it.
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

/** The same, where a link among the folders above leads elsewhere: then nothing is at this path. */
export function stateInPlace(path: string, largestBytes?: number): SeenState {
  return isInPlace(path) ? stateAt(path, largestBytes) : { state: absent }
}

/** Whether no folder above is a link. The path is one that was real when it was recorded. */
export function isInPlace(path: string): boolean {
  const folder = dirname(path)
  return realPath(folder) === folder
}

/** Undefined where nothing is, also where something above it is no folder. */
export function statsAt(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOTDIR') return undefined
    throw thrown
  }
}

/** Differs for a file that was written, moved or given another mode, as far as the file system tells. */
export function stampOf({ mtimeNs, ctimeNs, size, ino, mode }: BigIntStats): string {
  return `${mtimeNs} ${ctimeNs} ${size} ${ino} ${mode}`
}

export function isSameState(a: KeptState, b: KeptState): boolean {
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
