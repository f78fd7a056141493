import { hash as hashAtOnce } from 'node:crypto'
import type { Stats } from 'node:fs'
import type { Json, ToolContext, Transcript } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'

/** The state of a file when the model last saw it. */
export interface SeenFile {
  readonly modifiedMs: number
  readonly bytes: number
  /** Hash of the content; absent for files that are too large to hash: then time and size decide. */
  readonly hash: string | undefined
}

/** A conversation, as passed to a tool. */
interface Conversation extends Pick<ToolContext, 'memos'> {
  readonly state: { readonly transcript: Transcript }
}

/** A seen file, and the part of it that the model last read. */
export interface LastSeen {
  readonly realPath: string
  readonly file: SeenFile
  /** First line of the part, counted from 1. */
  readonly firstLine: number
  /** The whole text of a small file, to report changes later. */
  readonly text: string | undefined
}

/** The memo of a file tool: which file the model saw, and its state. */
export type FileMemo = {
  readonly file: {
    readonly path: string
    readonly modifiedMs: number
    readonly bytes: number
    /** Hash of the whole file, whatever part of it was shown. */
    readonly sha256?: string
    readonly firstLine: number
  }
}

/** The same for a tool that changes several files. */
export type FilesMemo = {
  readonly files: readonly FileMemo['file'][]
  /** Paths of files that the tool deleted. */
  readonly deleted: readonly string[]
}

/** Maximum number of characters of one stored text, and maximum number of texts. */
const largestText = 64 * 1024
const maxTexts = 4 * 1024 * 1024

export type Freshness = 'fresh' | 'never read' | 'changed'

/**
 * Which files were read in one conversation, and their state then. F1: a file that was not read, or has changed since,
 * is never overwritten. F2: if the content is known, it determines whether a file has changed: a new time stamp alone
 * is no change. F3: two calls never
 * work on one file at the same time, in any conversation. F4: the conversation decides: what its record says was read
 * was read, in any process, and what a rewind removed was not. F5: what was carried over a compaction counts as read
 * only while the conversation shows it, since the compaction may have been dropped.
 */
export class FileStates {
  /** Seen files, each with whether the transcript also contains it. */
  readonly #seen = new Map<string, LastSeen & { readonly isRecorded: boolean }>()
  readonly #carried = new Map<string, { readonly file: SeenFile; readonly text: string }>()
  readonly #turns: Map<string, Promise<unknown>>
  /** The state in which a changed file was reported. */
  readonly #reported = new Map<string, string>()
  #textCharacters = 0
  /** Number of transcript entries that were processed, and the id of the last one. */
  #read: { readonly entries: number; readonly last: string | undefined } = { entries: 0, last: undefined }

  /** Whether a call is currently checking for changes. */
  isLookedAt: boolean = false

  /** @param otherConversation The file states of another conversation over the same files. */
  constructor(otherConversation?: FileStates) {
    this.#turns = otherConversation === undefined ? new Map() : otherConversation.#turns
  }

  /**
   * Records what the model sees of a file. The memo must be part of the tool's output, because other processes receive
   * it only there.
   */
  recordSeen(realPath: string, file: SeenFile, firstLine: number = 1, text?: string): FileMemo {
    const storedText = text !== undefined && text.length <= largestText ? text : undefined
    const seen: LastSeen = { realPath, file, firstLine, text: storedText }
    this.#put({ ...seen, isRecorded: false })
    return fileMemoOf(seen)
  }

  /** Records that the model has been informed of the deletion. */
  deleted(realPath: string): void {
    this.#forget(realPath)
  }

  #put(seen: LastSeen & { readonly isRecorded: boolean }): void {
    const { realPath, text } = seen
    this.#reported.delete(realPath)
    this.#forget(realPath)
    // The newest entries are last.
    this.#seen.set(realPath, seen)
    this.#textCharacters += text?.length ?? 0
    this.#forgetTexts()
  }

  #forget(realPath: string): void {
    this.#textCharacters -= this.#seen.get(realPath)?.text?.length ?? 0
    this.#seen.delete(realPath)
    this.#carried.delete(realPath)
  }

  /**
   * Starts another conversation, or applies a rewind or continuation of this one: its record determines which files
   * were seen.
   */
  begin(transcript: Transcript): void {
    for (const path of this.#seen.keys()) this.#forget(path)
    this.#reported.clear()
    this.#read = { entries: 0, last: undefined }
    this.follow({ state: { transcript } })
  }

  /** Applies the record of the caller's conversation. Retains files seen by calls that have no result yet. */
  follow({ state: { transcript }, memos = [] }: Conversation): void {
    const { entries, last } = this.#read
    const isContinuation = transcript.length >= entries && transcript.at(entries - 1)?.id === last
    if (!isContinuation && entries > 0)
      for (const [path, { isRecorded }] of this.#seen) if (isRecorded) this.#forget(path)
    const newest = new Map<string, LastSeen>()
    const take = (recorded: readonly Json[]): void => {
      for (const memo of recorded) {
        for (const seen of filesOfMemo(memo)) newest.set(seen.realPath, seen)
        for (const path of deletedInMemo(memo)) {
          newest.delete(path)
          this.#forget(path)
        }
      }
    }
    for (const entry of transcript.since(isContinuation ? entries : 0))
      if (entry.kind === 'user' && entry.memos !== undefined) take(Object.values(entry.memos))
    take(memos)
    for (const seen of newest.values()) this.#takeRecorded(seen)
    this.#read = { entries: transcript.length, last: transcript.at(-1)?.id }
  }

  /** Stores the text that a call of this process saw, because the text is not recorded. */
  #takeRecorded(seen: LastSeen): void {
    const known = this.#seen.get(seen.realPath)
    if (known === undefined || !isSame(known.file, seen.file)) this.#put({ ...seen, isRecorded: true })
    else this.#seen.set(seen.realPath, { ...known, isRecorded: true })
  }

  /** Drops the oldest texts. */
  #forgetTexts(): void {
    for (const [path, seen] of this.#seen) {
      if (this.#textCharacters <= maxTexts) return
      if (seen.text === undefined) continue
      this.#textCharacters -= seen.text.length
      this.#seen.set(path, { ...seen, text: undefined })
    }
  }

  /** Whether a file was reported in this state since the model saw it. */
  isReported(realPath: string, form: string): boolean {
    return this.#reported.get(realPath) === form
  }

  /** Marks a file as reported in this state. Returns whether the state is new. */
  markReported(realPath: string, form: string): boolean {
    if (this.isReported(realPath, form)) return false
    this.#reported.set(realPath, form)
    return true
  }

  /** Whether the model saw the file, in any state. */
  hasSeen(realPath: string): boolean {
    return this.#seen.has(realPath)
  }

  /** The text that the model saw of a file, if it is stored. */
  textOf(realPath: string): string | undefined {
    return this.#seen.get(realPath)?.text
  }

  /** Returns a file as the model last saw it. */
  seenAt(realPath: string): LastSeen | undefined {
    return this.#seen.get(realPath)
  }

  /** Whether the model saw any file. */
  get hasSeenAny(): boolean {
    return this.#seen.size > 0
  }

  /** Files that were read or written, newest first. */
  get newestFirst(): readonly LastSeen[] {
    return [...this.#seen.values()].toReversed()
  }

  /** Records that a changed file was read again, and that the model may receive this text of the file. */
  recordCarried(realPath: string, file: SeenFile, text: string): void {
    this.#carried.set(realPath, { file, text })
  }

  /** @param isShown Whether the conversation contains a text that was carried over. */
  freshness(realPath: string, now: SeenFile, isShown: (text: string) => boolean): Freshness {
    const seen = this.#seen.get(realPath)
    if (seen === undefined) return 'never read'
    if (isSame(seen.file, now)) return 'fresh'
    const carried = this.#carried.get(realPath)
    return carried !== undefined && isSame(carried.file, now) && isShown(carried.text) ? 'fresh' : 'changed'
  }

  /** Runs tasks on a file one after another (F3). */
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

/** Returns the files of a memo; empty for the memo of another tool. */
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
