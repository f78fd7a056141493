import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'

/** What a file was when the model last saw it. */
export interface SeenFile {
  readonly modifiedMs: number
  readonly bytes: number
  /** Absent for files that are too large to hash: then time and size decide. */
  readonly hash: string | undefined
}

export type Freshness = 'fresh' | 'never read' | 'changed'

/**
 * Which files were read, and what they were then.
 *
 * F1: a file that was not read, or is no longer what was read, is never overwritten.
 * F2: the content decides, where it is known: a file that was only touched has not changed.
 * F3: two calls never work on one file at the same time.
 */
export class FileStates {
  readonly #seen = new Map<string, SeenFile>()
  readonly #turns = new Map<string, Promise<unknown>>()

  saw(realPath: string, file: SeenFile): void {
    this.#seen.set(realPath, file)
  }

  freshness(realPath: string, now: SeenFile): Freshness {
    const seen = this.#seen.get(realPath)
    if (seen === undefined) return 'never read'
    const isSame =
      seen.hash !== undefined && now.hash !== undefined
        ? seen.hash === now.hash
        : seen.modifiedMs === now.modifiedMs && seen.bytes === now.bytes
    return isSame ? 'fresh' : 'changed'
  }

  /** Runs one piece of work on a file after another (F3). */
  async inTurn<T>(realPath: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(realPath) ?? Promise.resolve()
    const turn = before.then(work, work)
    const settled = turn.then(
      () => undefined,
      () => undefined,
    )
    this.#turns.set(realPath, settled)
    try {
      return await turn
    } finally {
      if (this.#turns.get(realPath) === settled) this.#turns.delete(realPath)
    }
  }
}

export function seenFile(stats: Stats, hash: string | undefined): SeenFile {
  return { modifiedMs: stats.mtimeMs, bytes: stats.size, hash }
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64')
}
