import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'

/** What a file was when the model last saw it. */
export interface SeenFile {
  readonly modifiedMs: number
  readonly bytes: number
  /** Absent for files that are too large to hash: then time and size decide. */
  readonly hash: string | undefined
}

/** A file that was seen, and where in it the model last looked. */
export interface LastSeen {
  readonly realPath: string
  readonly file: SeenFile
  /** Counted from 1. */
  readonly firstLine: number
  /** All of it, where it is small: to tell later what changed. */
  readonly text: string | undefined
}

/** Characters of one text that is kept, and of all. */
const largestText = 64 * 1024
const mostTexts = 4 * 1024 * 1024

export type Freshness = 'fresh' | 'never read' | 'changed'

/**
 * Which files were read in one conversation, and what they were then.
 *
 * F1: a file that was not read, or is no longer what was read, is never overwritten.
 * F2: the content decides, where it is known: a file that was only touched has not changed.
 * F3: two calls never work on one file at the same time, whoever makes them.
 * F4: what was carried over a compaction counts as read only while the conversation shows it: the compaction may have come to nothing.
 */
export class FileStates {
  readonly #seen = new Map<string, LastSeen>()
  readonly #carried = new Map<string, { readonly file: SeenFile; readonly text: string }>()
  readonly #turns: Map<string, Promise<unknown>>
  /** In which form a changed file was told. */
  readonly #told = new Map<string, string>()
  #textCharacters = 0

  /** Somebody looks at them to tell what changed. */
  isLookedAt: boolean = false

  /** `beside`: those of another conversation over the same files. */
  constructor(beside?: FileStates) {
    this.#turns = beside === undefined ? new Map() : beside.#turns
  }

  saw(realPath: string, file: SeenFile, firstLine: number = 1, text?: string): void {
    this.#told.delete(realPath)
    this.#textCharacters -= this.#seen.get(realPath)?.text?.length ?? 0
    // The newest stand last.
    this.#seen.delete(realPath)
    this.#carried.delete(realPath)
    const kept = text !== undefined && text.length <= largestText ? text : undefined
    this.#seen.set(realPath, { realPath, file, firstLine, text: kept })
    this.#textCharacters += kept?.length ?? 0
    this.#forgetTexts()
  }

  /** The oldest go first. */
  #forgetTexts(): void {
    for (const [path, seen] of this.#seen) {
      if (this.#textCharacters <= mostTexts) return
      if (seen.text === undefined) continue
      this.#textCharacters -= seen.text.length
      this.#seen.set(path, { ...seen, text: undefined })
    }
  }

  /** True the first time that a file is found in this form since it was seen. */
  tells(realPath: string, form: string): boolean {
    if (this.#told.get(realPath) === form) return false
    this.#told.set(realPath, form)
    return true
  }

  /** What the model saw of a file, where it is kept. */
  textOf(realPath: string): string | undefined {
    return this.#seen.get(realPath)?.text
  }

  /** Files that were read or written, the newest first. */
  get newestFirst(): readonly LastSeen[] {
    return [...this.#seen.values()].toReversed()
  }

  /** A file that had changed was read again for the model, which may get to see this text of it. */
  carried(realPath: string, file: SeenFile, text: string): void {
    this.#carried.set(realPath, { file, text })
  }

  /** `isShown` tells whether the conversation holds a text that was carried over. */
  freshness(realPath: string, now: SeenFile, isShown: (text: string) => boolean): Freshness {
    const seen = this.#seen.get(realPath)
    if (seen === undefined) return 'never read'
    if (isSame(seen.file, now)) return 'fresh'
    const carried = this.#carried.get(realPath)
    return carried !== undefined && isSame(carried.file, now) && isShown(carried.text) ? 'fresh' : 'changed'
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

function isSame(seen: SeenFile, now: SeenFile): boolean {
  return seen.hash !== undefined && now.hash !== undefined
    ? seen.hash === now.hash
    : seen.modifiedMs === now.modifiedMs && seen.bytes === now.bytes
}

export function seenFile(stats: Stats, hash: string | undefined): SeenFile {
  return { modifiedMs: stats.mtimeMs, bytes: stats.size, hash }
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64')
}
