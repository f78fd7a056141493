import { closeSync, existsSync, openSync, readSync, writeSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, makeDurableFolder, writeWhole } from '@halting/journal/files'
import { sha256Of } from './path-state.ts'

/**
 * File contents by hash, each stored once, readable only by the user. The folder `contents` stores what records refer
 * to. The file `waiting` stores contents that a command may change; most are never needed and are deleted when the
 * process ends.
 */
export class ContentStore {
  readonly #folder: string
  readonly #contents: string
  readonly #stored = new Set<string>()
  readonly #staged = new Map<string, { readonly at: number; readonly bytes: number }>()
  #waiting: { readonly file: number; bytes: number } | undefined

  constructor(folder: string) {
    this.#folder = folder
    this.#contents = join(folder, 'contents')
  }

  /** Stores a content. Resolves when the content is on disk and survives a power failure. */
  async store(sha256: string, content: Uint8Array): Promise<void> {
    if (this.#stored.has(sha256)) return
    const path = join(this.#contents, sha256)
    // Contents that a command changed are not synced: a power failure may have truncated them.
    if (!existsSync(path) || (await this.read(sha256)) === undefined) {
      await makeDurableFolder(this.#contents)
      await writeWhole(path, content)
    }
    this.#stored.add(sha256)
  }

  /** Opens the file of staged contents. */
  async open(): Promise<void> {
    await makeFolder(this.#folder, 0o700)
    // If two commands start at once, only one opens the file.
    this.#waiting ??= { file: openSync(join(this.#folder, 'waiting'), 'w+', 0o600), bytes: 0 }
  }

  /** Stages a content until `close`. Call `open` first. */
  stage(sha256: string, content: Uint8Array): void {
    if (this.#waiting === undefined || this.#stored.has(sha256) || this.#staged.has(sha256)) return
    const at = this.#waiting.bytes
    for (let done = 0; done < content.length;)
      done += writeSync(this.#waiting.file, content, done, content.length - done, at + done)
    this.#waiting.bytes += content.length
    this.#staged.set(sha256, { at, bytes: content.length })
  }

  /**
   * Stores a staged content because a command changed the file. It survives a kill but not a power failure, after
   * which it is reported as missing.
   */
  async storeStaged(sha256: string): Promise<void> {
    const place = this.#staged.get(sha256)
    if (this.#stored.has(sha256) || place === undefined || this.#waiting === undefined) return
    const content = Buffer.alloc(place.bytes)
    for (let done = 0; done < content.length;) {
      const read = readSync(this.#waiting.file, content, done, content.length - done, place.at + done)
      if (read === 0) break
      done += read
    }
    await makeFolder(this.#contents, 0o700)
    const path = join(this.#contents, sha256)
    await writeFile(`${path}.part`, content, { mode: 0o600 })
    await rename(`${path}.part`, path)
    this.#stored.add(sha256)
  }

  /** Returns a content; undefined if it is missing or damaged. */
  async read(sha256: string): Promise<Buffer | undefined> {
    const content = await readFile(join(this.#contents, sha256)).catch(() => undefined)
    return content !== undefined && sha256Of(content) === sha256 ? content : undefined
  }

  /** Deletes the file `waiting`. No record refers to its contents. */
  async close(): Promise<void> {
    if (this.#waiting === undefined) return
    closeSync(this.#waiting.file)
    this.#waiting = undefined
    this.#staged.clear()
    await rm(join(this.#folder, 'waiting'), { force: true })
  }
}
