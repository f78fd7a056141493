import { codeOf } from '@halting/core/adapters'
import { lstat, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { makeFolder, removeWhole, writeWhole, type Locked, takeLock } from '@halting/journal/files'
import { maxNoteCharacters, type Note, sameText, union } from './note.ts'
import { indexName, type MemoryPlace } from './places.ts'
import { fileBytes, type Memory, maxNotes, maxTopics, readMemory, type ReadTopic, rootOf } from './read-memory.ts'
import { indexWith, isEmptyTopic, newTopicText, type Topic, topicOf, withNotes, withNotesReplaced } from './topic.ts'
import { removeBackup } from './undo-dream.ts'

/** The memory cannot be changed at present; the message is for users. */
export class MemoryError extends Error {
  override readonly name = 'MemoryError'
  readonly code: 'memory_busy' | 'memory_unusable'

  constructor(code: MemoryError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/**
 * A memory that this process has locked. M1: each file exists whole or not at all, is readable only by its user (0600,
 * folders 0700), and no link is followed. M2: text that is not a note stays unchanged, byte for byte. A file that was
 * not read in full is not written. M3: topics are written before the index, which a later change repairs.
 */
export interface LockedMemory {
  /** The folder. */
  readonly root: string
  /** The content of the memory when it was locked. */
  readonly memory: Memory
  /** Writes files by name; undefined removes one. */
  readonly write: (files: ReadonlyMap<string, string | undefined>) => Promise<void>
}

/** How long to wait for another process. */
const waitMs = 5_000

/**
 * Runs work that changes the memory, while no other process does.
 * @throws MemoryError if another process holds the lock, or if its folder is a link or not accessible; the abort
 * reason before anything is written.
 */
export async function withLockedMemory<Result>(
  place: MemoryPlace,
  work: (locked: LockedMemory) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const root = rootOf(place.folder)
  await makeFolders(place)
  const lock = await lockOf(place, root, signal)
  try {
    signal?.throwIfAborted()
    return await work({
      root,
      memory: await readMemory(place),
      async write(files) {
        const order = [...files].toSorted(([a], [b]) => Number(a === indexName) - Number(b === indexName))
        for (const [name, text] of order) {
          if (text === undefined) await removeWhole(join(root, name))
          else await writeWhole(join(root, name), text)
        }
      },
    })
  } finally {
    await lock.release()
  }
}

async function lockOf(
  { path }: MemoryPlace,
  root: string,
  signal: AbortSignal | undefined,
): Promise<Extract<Locked, { kind: 'locked' }>> {
  for (let waited = 0; ; waited += 50) {
    const lock = await takeLock(join(root, '.lock'))
    if (lock.kind === 'locked') return lock
    const { pid, host } = lock.holder
    if (waited >= waitMs)
      throw new MemoryError('memory_busy', `${path} is being changed by process ${pid} on ${host}. Try again later.`)
    await wait(50, undefined, signal === undefined ? {} : { signal })
  }
}

async function makeFolders({ folder: { base, parts }, path }: MemoryPlace): Promise<void> {
  try {
    await makeFolder(base, 0o700)
    let at = rootOf({ base, parts: [] })
    for (const part of parts) {
      at = join(at, part)
      await mkdir(at, { mode: 0o700 }).catch((thrown: unknown) => {
        if (codeOf(thrown) !== 'EEXIST') throw thrown
      })
      if (!(await lstat(at)).isDirectory())
        throw new MemoryError('memory_unusable', `${at} is a symbolic link or not a folder. Nothing is written there.`)
    }
  } catch (thrown) {
    if (thrown instanceof MemoryError) throw thrown
    throw new MemoryError('memory_unusable', `${path} cannot be created (${codeOf(thrown) ?? 'unknown'}).`)
  }
}

/** A note to store, and its topic. */
export interface NewNote {
  readonly topic: string
  readonly note: Note
}

/** The result of storing notes. */
export interface AddedNotes {
  readonly added: readonly NewNote[]
  /** Notes that existed already: their sources were added to the existing notes. */
  readonly merged: readonly NewNote[]
  readonly refused: readonly { readonly note: Note; readonly why: string }[]
}

// Spec R-MEM-4.
/** Stores notes. If an existing note has the same meaning, adds the source to it. */
export async function addNotes({ memory, write }: LockedMemory, newNotes: readonly NewNote[]): Promise<AddedNotes> {
  const added: NewNote[] = []
  const merged: NewNote[] = []
  const refused: { note: Note; why: string }[] = []
  const changes = new Changes(memory)
  for (const each of newNotes) {
    const { note, topic } = each
    const why = changes.whyFull(topic, note)
    const known = changes.sameAs(note)
    if (known !== undefined) {
      changes.swap(known.topic, known.note.id, { ...known.note, sources: union(known.note.sources, note.sources) })
      merged.push(each)
    } else if (why !== undefined) refused.push({ note, why })
    else {
      changes.add(topic, note)
      added.push(each)
    }
  }
  await write(changes.files())
  return { added, merged, refused }
}

/** The result of removing notes. */
export interface RemovedNotes {
  /** Notes that were removed. */
  readonly gone: readonly Note[]
  /** Notes in files that cannot be written. */
  readonly left: readonly Note[]
}

/** Removes notes by id, also from the backup for undoing a dream. */
export async function forgetNotes(locked: LockedMemory, ids: ReadonlySet<string>): Promise<RemovedNotes> {
  const { memory, write } = locked
  const changes = new Changes(memory)
  const found = placedNotes(memory).filter(({ note }) => ids.has(note.id))
  const open = found.filter(({ topic }) => topic.file.isWhole)
  for (const { topic, note } of open) changes.remove(topic.name, note.id)
  const files = changes.files()
  await removeBackup(locked, files.keys())
  await write(files)
  return {
    gone: open.map(({ note }) => note),
    left: found.filter(({ topic }) => !topic.file.isWhole).map(({ note }) => note),
  }
}

/** Pending changes of a memory, note by note. */
export class Changes {
  readonly #memory: Memory
  readonly #topics: Map<
    string,
    Pick<ReadTopic, 'name' | 'notes'> & { readonly text: string; readonly isWhole: boolean }
  >
  readonly #changed = new Set<string>()

  constructor(memory: Memory) {
    this.#memory = memory
    this.#topics = new Map(
      memory.topics.map(({ name, notes, file: { text, isWhole } }) => [name, { name, notes, text, isWhole }]),
    )
  }

  /** Returns why a topic has no room for a note. */
  whyFull(topic: string, { text }: Note): string | undefined {
    const file = this.#topics.get(topic)
    if (file?.isWhole === false || this.#memory.closed.has(`${topic}.md`)) return `${topic}.md cannot be written`
    if (file === undefined && this.#topics.size >= maxTopics) return `there are ${maxTopics} topics, the maximum`
    const notes = [...this.#topics.values()].reduce((sum, { notes: { length } }) => sum + length, 0)
    if (notes >= maxNotes) return `there are ${maxNotes} notes, the maximum. Use halting memory dream to merge some`
    if (text.length > maxNoteCharacters) return `it is longer than ${maxNoteCharacters} characters`
    // The line also contains the sources of the note.
    const bytes = Buffer.byteLength(file?.text ?? '') + Buffer.byteLength(text) + 500
    return bytes > fileBytes ? `${topic}.md is full. Use halting memory dream to merge notes` : undefined
  }

  sameAs({ text }: Note): { readonly topic: string; readonly note: Note } | undefined {
    for (const { name, notes, isWhole } of this.#topics.values()) {
      const note = isWhole ? notes.find((each) => sameText(each.text) === sameText(text)) : undefined
      if (note !== undefined) return { topic: name, note }
    }
    return undefined
  }

  add(topic: string, note: Note): void {
    this.#put(topic, withNotes(this.#topics.get(topic)?.text ?? newTopicText(topic), [note]))
  }

  /** Replaces a note by another one. */
  swap(topic: string, id: string, note: Note): void {
    this.#put(topic, withNotesReplaced(this.#topics.get(topic)?.text ?? '', new Map([[id, note]])))
  }

  remove(topic: string, id: string): void {
    this.#put(topic, withNotesReplaced(this.#topics.get(topic)?.text ?? '', new Map([[id, undefined]])))
  }

  #put(topic: string, text: string): void {
    const isWhole = this.#topics.get(topic)?.isWhole ?? true
    if (!isWhole || this.#topics.get(topic)?.text === text) return
    this.#changed.add(topic)
    this.#topics.set(topic, { name: topic, notes: topicOf(topic, text).notes, text, isWhole })
  }

  /** The changed files. Removes empty topics and their lines in the index. */
  files(): ReadonlyMap<string, string | undefined> {
    const files = new Map<string, string | undefined>()
    const gone: string[] = []
    for (const name of this.#changed) {
      const text = this.#topics.get(name)?.text ?? ''
      if (isEmptyTopic(name, text)) gone.push(name)
      files.set(`${name}.md`, isEmptyTopic(name, text) ? undefined : text)
    }
    const { index, closed } = this.#memory
    if (closed.has(indexName)) return files
    const there: readonly Topic[] = [...this.#topics.values()]
      .filter(({ name }) => !gone.includes(name))
      .map(({ name, text }) => topicOf(name, text))
    const text = indexWith(index?.text ?? '', there, gone)
    if (text !== (index?.text ?? '')) files.set(indexName, text)
    return files
  }
}

/** Returns notes with their topic, and whether its file can be written. */
export function placedNotes(memory: Memory): readonly {
  /** The topic. */
  readonly topic: ReadTopic
  /** The note. */
  readonly note: Note
}[] {
  return memory.topics.flatMap((topic) => topic.notes.map((note) => ({ topic, note })))
}
