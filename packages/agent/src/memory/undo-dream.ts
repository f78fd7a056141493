import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { boundedBytes } from '@halting/policy/files'
import { removeDraft, removeWhole, writeWhole } from '@halting/journal/files'
import { indexName } from './places.ts'
import { fileBytes, maxTopics } from './read-memory.ts'
import { isTopicName } from './topic.ts'

// The former contents of the files that a dream changed, in one file next to the notes. The backup is written before
// the first file changes, and removed by an undo.

const backupName = '.before-dream.json'
const maxBackupBytes = 2 * (maxTopics + 1) * fileBytes

/** The folder of a memory that this process has locked. */
interface InFolder {
  readonly root: string
}

interface BackupFile {
  readonly name: string
  /** Former content in base64; null if the file did not exist. */
  readonly before: string | null
  /** Hash of what the dream wrote; null if it removed the file. */
  readonly after: string | null
}

interface Backup {
  readonly at: string
  readonly files: readonly BackupFile[]
}

/** Stores the exact contents of these files before they change. */
export async function writeBackup(
  { root }: InFolder,
  files: ReadonlyMap<string, string | undefined>,
  now: Date,
): Promise<void> {
  const backups: BackupFile[] = []
  for (const [name, text] of files) {
    const before = await bytesOf(root, name)
    backups.push({
      name,
      before: before?.toString('base64') ?? null,
      after: text === undefined ? null : hashOf(Buffer.from(text)),
    })
  }
  const backup: Backup = { at: now.toISOString(), files: backups }
  await writeWhole(join(root, backupName), JSON.stringify(backup))
}

/** The result of an undo. If files changed after the dream, nothing is undone. */
export type UndoResult =
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'changed'
      /** Time of the dream: ISO 8601 in UTC. */
      readonly at: string
      /** Files that changed since the dream. */
      readonly names: readonly string[]
    }
  | {
      readonly kind: 'undone'
      /** Time of the dream: ISO 8601 in UTC. */
      readonly at: string
      /** Files that were restored. */
      readonly names: readonly string[]
    }

// Spec R-DREAM-5.
/** Restores exactly what the last dream changed, or nothing. Completes an interrupted undo. */
export async function undoDream({ root }: InFolder): Promise<UndoResult> {
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
 * Removes the backup if it contains one of these files: it has notes that must be forgotten, and restoring it is no
 * longer possible. An unreadable backup may contain these notes too.
 */
export async function removeBackup({ root }: InFolder, names: Iterable<string>): Promise<void> {
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

/** Returns the bytes of a file; undefined if it is missing. This program stores only plain files within this size. */
async function bytesOf(root: string, name: string): Promise<Buffer | undefined> {
  const read = await boundedBytes(join(root, name), maxBackupBytes)
  if (read.kind === 'absent') return undefined
  return read.kind === 'bytes' && !read.isCut ? read.bytes : Buffer.from([0])
}

/** Returns the backup; undefined if it does not exist or was modified. */
async function readBackup(root: string): Promise<Backup | undefined> {
  const read = await boundedBytes(join(root, backupName), maxBackupBytes)
  if (read.kind !== 'bytes' || read.isCut) return undefined
  try {
    const backup: unknown = JSON.parse(read.bytes.toString('utf8'))
    if (!isJsonObject(backup) || typeof backup['at'] !== 'string' || !Array.isArray(backup['files'])) return undefined
    const files = backup['files'].map(backupFileOf)
    const whole = files.flatMap((file) => file ?? [])
    return whole.length === files.length ? { at: backup['at'], files: whole } : undefined
  } catch {
    return undefined
  }
}

function backupFileOf(rawFile: unknown): BackupFile | undefined {
  if (!isJsonObject(rawFile)) return undefined
  const { name, before, after } = rawFile
  const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string'
  if (typeof name !== 'string' || !isTextOrNull(before) || !isTextOrNull(after)) return undefined
  // A valid backup names only files of this folder.
  const isOurs = name === indexName || (name.endsWith('.md') && isTopicName(name.slice(0, -3)))
  return isOurs ? { name, before, after } : undefined
}
