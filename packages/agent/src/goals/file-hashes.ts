import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { realPath } from '@halting/journal/files'
import { setImmediate as pause } from 'node:timers/promises'
import { stampOf, statsAt } from '../checkpoints/kept-state.ts'

/** Of larger files size and time stand for the content. */
const mostBytes = 64 * 1024 * 1024
const longestBusyMs = 20
/** A clock of a file system may stand still for some milliseconds: a stamp this young may be that of a later content, too. */
const youngMs = 50

/** What is at a path, in a few characters; empty for nothing. */
export type FileState = string

export const nothing: FileState = ''

/** A hash that no agent finds another text for, short enough to be on record for thousands of files: 96 bits. */
export function shortHash(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 16)
}

/** States of files. One whose size, times and place are the same is not read again. */
export class FileHashes {
  readonly #known = new Map<string, { readonly stamp: string; readonly state: FileState }>()

  /** A link counts with where it leads and with what is there: writing through it changes what is read. */
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

  /** The states of many files, without keeping the program from anything else for long. */
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
    // A ring of links is its own real path.
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
      return size > mostBytes ? `large ${size} ${mtimeMs}` : shortHash(readFileSync(file))
    } finally {
      closeSync(file)
    }
  } catch {
    return statsAt(path) === undefined ? nothing : 'unreadable'
  }
}

const mostTextBytes = 4 * 1024 * 1024

/** The text of a small regular file, also behind a link; undefined for everything else. */
export function smallTextAt(path: string): string | undefined {
  try {
    // A pipe would be waited for.
    if (!statSync(path).isFile()) return undefined
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stats = fstatSync(file)
      return stats.isFile() && stats.size <= mostTextBytes ? readFileSync(file, 'utf8') : undefined
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}
