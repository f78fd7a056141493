import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { realPath } from '@halting/journal/files'
import { setImmediate as pause } from 'node:timers/promises'
import { stampOf, statsAt } from '../checkpoints/path-state.ts'

/** For larger files, size and time replace the content. */
const maxBytes = 64 * 1024 * 1024
const longestBusyMs = 20
/** File system clocks may be coarse: a stamp this young may also belong to a later content. */
const youngMs = 50

/** The state of a path as a short text; empty if nothing exists there. */
export type FileState = string

export const nothing: FileState = ''

/**
 * A 96-bit hash: strong enough that no agent finds a second text, and short enough to record for thousands of files.
 */
export function shortHash(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 16)
}

/** File states. A file with unchanged size, times and path is not read again. */
export class FileHashes {
  readonly #known = new Map<string, { readonly stamp: string; readonly state: FileState }>()

  /** The state of a link includes its target and what is there: writing through it changes what is read. */
  stateOf(path: string): FileState {
    const stats = statsAt(path)
    if (stats === undefined) return nothing
    if (stats.isDirectory()) return 'folder'
    if (stats.isSymbolicLink()) return linkState(path, (at) => this.stateOf(at))
    if (!stats.isFile()) return 'special'
    const stamp = stampOf(stats)
    const known = this.#known.get(path)
    if (known?.stamp === stamp) return known.state
    const state = contentState(path)
    if (Date.now() - Number(stats.ctimeMs) > youngMs) this.#known.set(path, { stamp, state })
    else this.#known.delete(path)
    return state
  }

  /** The states of many files. Does not block the program for long. */
  async statesOf(paths: Iterable<string>, signal?: AbortSignal): Promise<ReadonlyMap<string, FileState>> {
    const states = new Map<string, FileState>()
    let busySince = performance.now()
    for (const path of paths) {
      states.set(path, this.stateOf(path))
      if (performance.now() - busySince <= longestBusyMs) continue
      // oxlint-disable-next-line no-await-in-loop -- this is what the loop is interrupted for
      await pause()
      signal?.throwIfAborted()
      busySince = performance.now()
    }
    return states
  }
}

function linkState(path: string, stateOf: (path: string) => FileState): FileState {
  try {
    const target = readlinkSync(path)
    const real = realPath(path)
    // A cycle of links is its own real path.
    const behind = statsAt(real)?.isSymbolicLink() === true ? nothing : stateOf(real)
    return `link ${shortHash(`${target}\0${behind}`)}`
  } catch {
    return nothing
  }
}

function contentState(path: string): FileState {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const { size, mtimeMs } = fstatSync(file)
      return size > maxBytes ? `large ${size} ${mtimeMs}` : shortHash(readFileSync(file))
    } finally {
      closeSync(file)
    }
  } catch {
    return statsAt(path) === undefined ? nothing : 'unreadable'
  }
}

const maxTextBytes = 4 * 1024 * 1024

/** The text of a small regular file, also through a link; undefined for everything else. */
export function smallTextAt(path: string): string | undefined {
  try {
    // Reading a pipe would block.
    if (!statSync(path).isFile()) return undefined
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stats = fstatSync(file)
      return stats.isFile() && stats.size <= maxTextBytes ? readFileSync(file, 'utf8') : undefined
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}
