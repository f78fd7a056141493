import { statSync } from 'node:fs'
import { join } from 'node:path'
import { realPath } from '@halting/journal/files'
import { boundedText, firstEntries, isInside } from '@halting/policy/files'

const maxBytes = 256 * 1024
const maxEntries = 2000

/** A project folder. Reads its small files without following links out of the project. */
export class ProjectFolder {
  readonly #path: string
  readonly #project: string

  constructor(path: string, project: string = path) {
    this.#path = path
    this.#project = realPath(project)
  }

  /** Returns the first names in the folder; empty if the folder cannot be read. */
  names(): readonly string[] {
    try {
      return firstEntries(this.#path, maxEntries).entries.map(({ name }) => name)
    } catch {
      return []
    }
  }

  /** Returns the text of a file, truncated if large; '' if the file is missing, not text, or outside the project. */
  async text(name: string): Promise<string> {
    const path = this.#inside(name)
    if (path === undefined) return ''
    const read = await boundedText(path, maxBytes)
    return read.kind === 'text' ? read.text : ''
  }

  /** A subfolder; undefined if it is not a folder of the project. */
  folder(name: string): ProjectFolder | undefined {
    const path = this.#inside(name)
    const isFolder = path !== undefined && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    return isFolder ? new ProjectFolder(path, this.#project) : undefined
  }

  #inside(name: string): string | undefined {
    try {
      const path = realPath(join(this.#path, name))
      return isInside(path, this.#project) ? path : undefined
    } catch {
      return undefined
    }
  }
}
