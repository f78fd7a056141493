import { mkdirSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf } from '@halting/core/adapters'
import type { MadeFile } from './git-places.ts'
import { exists, ignoreErrors, textAt } from './on-disk.ts'
import { SandboxError } from './sandbox-error.ts'

/** Folders and files that occupy paths which commands must not create. They exist only while commands run. */
export class Placeholders {
  readonly #folders = new Set<string>()
  readonly #files = new Map<string, string>()

  /** @throws SandboxError if one cannot be created: the command could create something else there. */
  create(folders: readonly string[], files: readonly MadeFile[]): void {
    try {
      // A folder occupies the path: git ignores an empty one, and no program reads it as a settings file.
      for (const path of folders) if (!this.#folders.has(path)) this.#makeFolder(path)
      for (const { path, text } of files) {
        // Another session may have created it since the check of this one.
        if (this.#files.has(path) || (textAt(path) === text && exists(path))) continue
        writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
        this.#files.set(path, text)
      }
    } catch (thrown) {
      throw new SandboxError(`A protected path could not be reserved: ${messageOf(thrown)}. The command was not run.`)
    }
  }

  remove(): void {
    for (const [path, text] of this.#files) ignoreErrors(() => textAt(path) === text && unlinkSync(path))
    // If another program put something into a placeholder, its content is not ours and remains.
    for (const path of [...this.#folders].toReversed()) ignoreErrors(() => rmdirSync(path))
    this.#files.clear()
    this.#folders.clear()
  }

  #makeFolder(path: string): void {
    if (exists(path)) return
    const parent = dirname(path)
    if (!exists(parent)) this.#makeFolder(parent)
    mkdirSync(path, { mode: 0o700 })
    this.#folders.add(path)
  }
}
