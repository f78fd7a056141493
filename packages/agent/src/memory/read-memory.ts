import { codeOf } from '@halting/core/adapters'
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { boundedBytes, pinFolder, PathMovedError } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import type { FolderBelow } from '@halting/journal'
import type { Note } from './note.ts'
import { indexName, type MemoryPlace } from './places.ts'
import { isTopicName, type Topic, topicOf } from './topic.ts'

/** Maximum bytes of one file, number of topics, and number of notes in all of them. */
export const fileBytes: number = 64 * 1024
export const maxTopics = 40
export const maxNotes = 300
/** Maximum number of names that are read from a folder. */
const maxNames = 1_000

/** A file of a memory. */
interface MemoryFile {
  readonly name: string
  readonly text: string
  /** False if the file is too long: it is shown, but never written. */
  readonly isWhole: boolean
}

/** A topic of the notes together with its file. */
export interface ReadTopic extends Topic {
  /** The file. */
  readonly file: MemoryFile
}

/** The content of a memory. */
export interface Memory {
  /** Undefined if there is no index. */
  readonly index: MemoryFile | undefined
  /** Ordered by name. */
  readonly topics: readonly ReadTopic[]
  /** Notes for the user: what is not read in full, and why. No file content is lost. */
  readonly problems: readonly string[]
  /** Names of files that cannot be written: too long, not text, or a link. */
  readonly closed: ReadonlySet<string>
}

/** Returns the folder with links in its base resolved. Links below the base are not allowed. */
export function rootOf({ base, parts }: FolderBelow): string {
  return join(realPath(base), ...parts)
}

// Spec R-MEM-3.
/** Reads a memory of any author. Never throws because of file contents. */
export async function readMemory({ folder, path }: MemoryPlace): Promise<Memory> {
  const root = rootOf(folder)
  const problems: string[] = []
  const names = await namesIn(root).catch((thrown: unknown): readonly string[] => {
    if (codeOf(thrown) === 'ENOENT') return []
    problems.push(`${path} was skipped: ${whyNot(thrown)}.`)
    return []
  })
  const closed = new Set<string>()
  const read = async (name: string): Promise<MemoryFile | undefined> => {
    const found = await readText(join(root, name))
    if (found.kind === 'text' && !found.isCut) return { name, text: found.text, isWhole: true }
    if (found.kind === 'absent') return undefined
    closed.add(name)
    const shown = join(path, name)
    if (found.kind === 'unfit') {
      problems.push(`${shown} ${found.why}. It is not read or written.`)
      return undefined
    }
    problems.push(
      `${shown} is longer than ${fileBytes} bytes. Only its beginning is read, and nothing is written there.`,
    )
    return { name, text: found.text, isWhole: false }
  }
  const index = names.includes(indexName) ? await read(indexName) : undefined
  const topicNames = names.flatMap((name) => (name.endsWith('.md') ? [name.slice(0, -3)] : [])).filter(isTopicName)
  if (topicNames.length > maxTopics)
    problems.push(`${path} has ${topicNames.length} topics. Only the first ${maxTopics} by name are read.`)
  const topics: ReadTopic[] = []
  for (const name of topicNames.slice(0, maxTopics)) {
    const file = await read(`${name}.md`)
    if (file === undefined) continue
    const topic = topicOf(name, file.text)
    for (const line of topic.damagedLines)
      problems.push(`${join(path, file.name)}:${line} is not a valid note. It is left unchanged.`)
    topics.push({ ...topic, file })
  }
  return { index, topics, problems, closed }
}

export function notesOf({ topics }: Memory): readonly Note[] {
  return topics.flatMap(({ notes }) => notes)
}

async function namesIn(root: string): Promise<readonly string[]> {
  const openFolder = await pinFolder(root)
  try {
    const names: string[] = []
    for await (const { name } of await opendir(openFolder.pathOf('.'))) {
      names.push(name)
      if (names.length === maxNames) break
    }
    return names.toSorted()
  } finally {
    await openFolder.close()
  }
}

type ReadText =
  | { readonly kind: 'text'; readonly text: string; readonly isCut: boolean }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unfit'; readonly why: string }

/** Reads a file as text only if writing the text back would restore every byte. */
async function readText(path: string): Promise<ReadText> {
  const read = await boundedBytes(path, fileBytes)
  if (read.kind === 'unfit')
    return { kind: 'unfit', why: read.why.includes('path_moved') ? 'is a symbolic link or inside one' : read.why }
  if (read.kind === 'absent') return read
  const { bytes, isCut } = read
  if (bytes.includes(0)) return { kind: 'unfit', why: 'is not a text file' }
  try {
    // Truncation may have split a character.
    const decoder = new TextDecoder('utf-8', { fatal: !isCut, ignoreBOM: true })
    return { kind: 'text', text: decoder.decode(bytes), isCut }
  } catch {
    return { kind: 'unfit', why: 'is not valid UTF-8' }
  }
}

/** Why a folder cannot be used. */
function whyNot(thrown: unknown): string {
  if (thrown instanceof PathMovedError) return 'it is a symbolic link or inside one'
  if (codeOf(thrown) === 'ENOTDIR') return 'it is not a folder'
  return `it cannot be opened (${codeOf(thrown) ?? 'unknown'})`
}
