import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { boundedBytes } from '@halting/policy/files'
import { removeDraft, removeWhole, writeWhole } from '@halting/journal/files'
import { indexName } from './places.ts'
import { fileBytes, mostTopics } from './read-memory.ts'
import { isTopicName } from './topic.ts'

// What a dream changed, in one file beside the notes, which is there before the first of them is written. Undone, it is gone.

const backupName = '.before-dream.json'
const mostBackupBytes = 2 * (mostTopics + 1) * fileBytes

/** The folder of a memory that this process alone changes. */
interface InFolder {
  readonly root: string
}

interface KeptFile {
  readonly name: string
  /** In base64; null for a file that was not there. */
  readonly before: string | null
  /** The hash of what the dream wrote; null where it removed the file. */
  readonly after: string | null
}

interface Backup {
  readonly at: string
  readonly files: readonly KeptFile[]
}

/** Keeps what these files are, byte for byte, before they become what is given. */
export async function keepBefore(
  { root }: InFolder,
  files: ReadonlyMap<string, string | undefined>,
  now: Date,
): Promise<void> {
  const kept: KeptFile[] = []
  for (const [name, text] of files) {
    const before = await bytesOf(root, name)
    kept.push({
      name,
      before: before?.toString('base64') ?? null,
      after: text === undefined ? null : hashOf(Buffer.from(text)),
    })
  }
  const backup: Backup = { at: now.toISOString(), files: kept }
  await writeWhole(join(root, backupName), JSON.stringify(backup))
}

/** What became of an undo. Where something came after the dream nothing is done. */
export type Undone =
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'changed'
      /** When the dream was: ISO 8601 in UTC. */
      readonly at: string
      /** Files that changed since. */
      readonly names: readonly string[]
    }
  | {
      readonly kind: 'undone'
      /** When the dream was: ISO 8601 in UTC. */
      readonly at: string
      /** Files that were restored. */
      readonly names: readonly string[]
    }

// Spec R-DREAM-5.
/** Puts back what the last dream changed, byte for byte, or changes nothing. One that was ended in the middle goes on. */
export async function undoDream({ root }: InFolder): Promise<Undone> {
  const backup = await readBackup(root)
  if (backup === undefined) return { kind: 'nothing' }
  const { at, files } = backup
  const changed: string[] = []
  for (const { name, before, after } of files) {
    const now = hashOfFile(await bytesOf(root, name))
    if (now !== after && now !== hashOfFile(fromBase64(before))) changed.push(name)
  }
  const names = files.map(({ name }) => name)
  if (changed.length > 0) return { kind: 'changed', at, names: changed }
  for (const { name, before } of files.toSorted(
    (a, b) => Number(a.name === indexName) - Number(b.name === indexName),
  )) {
    const bytes = fromBase64(before)
    if (bytes === undefined) await removeWhole(join(root, name))
    else await writeWhole(join(root, name), bytes)
  }
  await removeWhole(join(root, backupName))
  return { kind: 'undone', at, names }
}

/**
 * Takes away what was kept for an undo where it holds one of these files: it has notes that are to be forgotten, and could not be put back any more.
 * What cannot be read may hold them, too.
 */
export async function forgetBefore({ root }: InFolder, names: Iterable<string>): Promise<void> {
  const backup = await readBackup(root)
  const changed = new Set(names)
  const path = join(root, backupName)
  if (backup === undefined || backup.files.some(({ name }) => changed.has(name))) await removeWhole(path)
  else await removeDraft(path)
}

function fromBase64(text: string | null): Buffer | undefined {
  return text === null ? undefined : Buffer.from(text, 'base64')
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function hashOfFile(bytes: Buffer | undefined): string | null {
  return bytes === undefined ? null : hashOf(bytes)
}

/** Undefined for what is not there. What is no plain file of its size is something else than was kept. */
async function bytesOf(root: string, name: string): Promise<Buffer | undefined> {
  const read = await boundedBytes(join(root, name), mostBackupBytes)
  if (read.kind === 'absent') return undefined
  return read.kind === 'bytes' && !read.isCut ? read.bytes : Buffer.from([0])
}

/** Undefined where there is none, and where somebody has written something else into it. */
async function readBackup(root: string): Promise<Backup | undefined> {
  const read = await boundedBytes(join(root, backupName), mostBackupBytes)
  if (read.kind !== 'bytes' || read.isCut) return undefined
  try {
    const backup: unknown = JSON.parse(read.bytes.toString('utf8'))
    if (!isJsonObject(backup) || typeof backup['at'] !== 'string' || !Array.isArray(backup['files'])) return undefined
    const files = backup['files'].map(keptFileOf)
    const whole = files.flatMap((file) => file ?? [])
    return whole.length === files.length ? { at: backup['at'], files: whole } : undefined
  } catch {
    return undefined
  }
}

function keptFileOf(given: unknown): KeptFile | undefined {
  if (!isJsonObject(given)) return undefined
  const { name, before, after } = given
  const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string'
  if (typeof name !== 'string' || !isTextOrNull(before) || !isTextOrNull(after)) return undefined
  // It names files of this folder and nothing else.
  const isOurs = name === indexName || (name.endsWith('.md') && isTopicName(name.slice(0, -3)))
  return isOurs ? { name, before, after } : undefined
}
