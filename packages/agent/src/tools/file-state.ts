import { hash as hashAtOnce } from 'node:crypto'
import type { Stats } from 'node:fs'
import type { Json, ToolContext, Transcript } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'

/** What a file was when the model last saw it. */
export interface SeenFile {
  readonly modifiedMs: number
  readonly bytes: number
  /** Absent for files that are too large to hash: then time and size decide. */
  readonly hash: string | undefined
}

/** A conversation, as a tool is handed it. */
interface Conversation extends Pick<ToolContext, 'memos'> {
  readonly state: { readonly transcript: Transcript }
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

/** What a file tool has to find again: which file the model saw, and what that was. */
export type FileMemo = {
  readonly file: {
    readonly path: string
    readonly modifiedMs: number
    readonly bytes: number
    /** Of all of the file, whatever part of it was shown. */
    readonly sha256?: string
    readonly firstLine: number
  }
}

/** The same of a tool that changes several files. */
export type FilesMemo = {
  readonly files: readonly FileMemo['file'][]
  /** Paths of files that it deleted. */
  readonly deleted: readonly string[]
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
 * F4: the conversation decides: what its record says was read was read, in whichever process, and what a rewind took out of it was not.
 * F5: what was carried over a compaction counts as read only while the conversation shows it: the compaction may have come to nothing.
 */
export class FileStates {
  /** Each with whether the transcript says so, too. */
  readonly #seen = new Map<string, LastSeen & { readonly isRecorded: boolean }>()
  readonly #carried = new Map<string, { readonly file: SeenFile; readonly text: string }>()
  readonly #turns: Map<string, Promise<unknown>>
  /** In which form a changed file was told. */
  readonly #told = new Map<string, string>()
  #textCharacters = 0
  /** The entries of the transcript that were read: how many, and the id of the last. */
  #read: { readonly entries: number; readonly last: string | undefined } = { entries: 0, last: undefined }

  /** Somebody looks at them to tell what changed. */
  isLookedAt: boolean = false

  /** `beside`: those of another conversation over the same files. */
  constructor(beside?: FileStates) {
    this.#turns = beside === undefined ? new Map() : beside.#turns
  }

  /** Notes what the model sees of a file. The memo belongs in the output of the tool: other processes know of it by that alone. */
  saw(realPath: string, file: SeenFile, firstLine: number = 1, text?: string): FileMemo {
    const kept = text !== undefined && text.length <= largestText ? text : undefined
    const seen: LastSeen = { realPath, file, firstLine, text: kept }
    this.#put({ ...seen, isRecorded: false })
    return fileMemoOf(seen)
  }

  /** The model knows that the file is gone. */
  deleted(realPath: string): void {
    this.#forget(realPath)
  }

  #put(seen: LastSeen & { readonly isRecorded: boolean }): void {
    const { realPath, text } = seen
    this.#told.delete(realPath)
    this.#forget(realPath)
    // The newest stand last.
    this.#seen.set(realPath, seen)
    this.#textCharacters += text?.length ?? 0
    this.#forgetTexts()
  }

  #forget(realPath: string): void {
    this.#textCharacters -= this.#seen.get(realPath)?.text?.length ?? 0
    this.#seen.delete(realPath)
    this.#carried.delete(realPath)
  }

  /** Another conversation begins, or this one goes back or on: what its record says was seen is what was. */
  begin(transcript: Transcript): void {
    for (const path of this.#seen.keys()) this.#forget(path)
    this.#told.clear()
    this.#read = { entries: 0, last: undefined }
    this.follow({ state: { transcript } })
  }

  /** Takes what a caller's conversation says was seen. What was seen by calls without a result stays. */
  follow({ state: { transcript }, memos = [] }: Conversation): void {
    const { entries, last } = this.#read
    const goesOn = transcript.length >= entries && transcript.at(entries - 1)?.id === last
    if (!goesOn && entries > 0) for (const [path, { isRecorded }] of this.#seen) if (isRecorded) this.#forget(path)
    const newest = new Map<string, LastSeen>()
    const take = (told: readonly Json[]): void => {
      for (const memo of told) {
        for (const seen of filesOfMemo(memo)) newest.set(seen.realPath, seen)
        for (const path of deletedInMemo(memo)) {
          newest.delete(path)
          this.#forget(path)
        }
      }
    }
    for (const entry of transcript.since(goesOn ? entries : 0))
      if (entry.kind === 'user' && entry.memos !== undefined) take(Object.values(entry.memos))
    take(memos)
    for (const seen of newest.values()) this.#takeRecorded(seen)
    this.#read = { entries: transcript.length, last: transcript.at(-1)?.id }
  }

  /** What a call of this process saw is known with its text, which is not on record. */
  #takeRecorded(seen: LastSeen): void {
    const known = this.#seen.get(seen.realPath)
    if (known === undefined || !isSame(known.file, seen.file)) this.#put({ ...seen, isRecorded: true })
    else this.#seen.set(seen.realPath, { ...known, isRecorded: true })
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

  /** Whether a file was told in this form since it was seen. */
  isTold(realPath: string, form: string): boolean {
    return this.#told.get(realPath) === form
  }

  /** True the first time that a file is found in this form since it was seen. */
  tells(realPath: string, form: string): boolean {
    if (this.isTold(realPath, form)) return false
    this.#told.set(realPath, form)
    return true
  }

  /** Whether the model saw the file, whatever it is by now. */
  hasSeen(realPath: string): boolean {
    return this.#seen.has(realPath)
  }

  /** What the model saw of a file, where it is kept. */
  textOf(realPath: string): string | undefined {
    return this.#seen.get(realPath)?.text
  }

  /** A file as it was last seen. */
  seenAt(realPath: string): LastSeen | undefined {
    return this.#seen.get(realPath)
  }

  /** Whether any file was seen. */
  get hasSeenAny(): boolean {
    return this.#seen.size > 0
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

function fileMemoOf({ realPath: path, file, firstLine }: LastSeen): FileMemo {
  const { modifiedMs, bytes, hash } = file
  return { file: { path, modifiedMs, bytes, ...(hash !== undefined && { sha256: hash }), firstLine } }
}

/** None for the memo of another tool. */
function filesOfMemo(memo: Json): readonly LastSeen[] {
  if (!isJsonObject(memo)) return []
  const { file, files } = memo
  return [file, ...(Array.isArray(files) ? (files as readonly Json[]) : [])].flatMap((each) => fileOfMemo(each) ?? [])
}

function deletedInMemo(memo: Json): readonly string[] {
  const deleted = isJsonObject(memo) ? memo['deleted'] : undefined
  return Array.isArray(deleted) ? deleted.filter((path) => typeof path === 'string') : []
}

function fileOfMemo(file: Json | undefined): LastSeen | undefined {
  if (!isJsonObject(file)) return undefined
  const { path, modifiedMs, bytes, sha256, firstLine } = file
  if (typeof path !== 'string' || typeof modifiedMs !== 'number' || typeof bytes !== 'number') return undefined
  const hash = typeof sha256 === 'string' ? sha256 : undefined
  const line = typeof firstLine === 'number' ? firstLine : 1
  return { realPath: path, file: { modifiedMs, bytes, hash }, firstLine: line, text: undefined }
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
  return hashAtOnce('sha256', bytes, 'base64')
}
