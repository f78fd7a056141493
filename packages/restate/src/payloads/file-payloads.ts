import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { defaultInlineBytes, folderNameOf, referenceTo, verifiedText } from './payload-hash.ts'
import type { PayloadStore, PayloadStores } from './payload-store.ts'

/** Options of a payload store in a shared folder. */
export interface FilePayloadsOptions {
  /** A folder that all workers see, for example on a shared file system. Created if missing. */
  readonly folder: string
  /** Maximum size of inline texts, in bytes. Default: 256 KiB. */
  readonly inlineBytes?: number
}

/** Stores payloads as files: a folder for each session, and each file named by its SHA-256. A stored payload survives a power failure. */
export function filePayloads({ folder, inlineBytes = defaultInlineBytes }: FilePayloadsOptions): PayloadStores {
  return { of: (sessionId) => storeIn(join(folder, folderNameOf(sessionId)), inlineBytes) }
}

function storeIn(folder: string, inlineBytes: number): PayloadStore {
  return {
    inlineBytes,
    async put(text) {
      const content = Buffer.from(text)
      const reference = referenceTo(content)
      const path = join(folder, reference.sha256)
      // A file gets its name once it is complete and on disk.
      const there = await stat(path).catch(() => undefined)
      if (there?.size !== content.byteLength) await writeDurably(path, content)
      return reference
    },
    async get(reference) {
      const path = join(folder, reference.sha256)
      const content = await readFile(path).catch((error: unknown) => {
        throw new HaltingError('driver', `A part of this session cannot be read: ${messageOf(error)}`, { cause: error })
      })
      return verifiedText(content, reference, path)
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

async function writeDurably(path: string, content: Uint8Array): Promise<void> {
  const folder = dirname(path)
  const made = await mkdir(folder, { recursive: true, mode: 0o700 })
  // Another worker may write the same file at the same time.
  const draft = `${path}.${randomUUID()}.part`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolder(folder)
  if (made === undefined) return
  // The name of a folder is stored in its parent.
  for (let each = folder; each.length >= made.length; each = dirname(each)) await syncFolder(dirname(each))
}

async function syncFolder(path: string): Promise<void> {
  // Some systems cannot open folders, and some file systems cannot sync them.
  const folder = await open(path, 'r').catch(() => undefined)
  if (folder === undefined) return
  await folder.sync().catch(() => {})
  await folder.close()
}
