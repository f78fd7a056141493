import { statSync } from 'node:fs'
import { join } from 'node:path'
import { realPath } from '@halting/journal/files'
import { boundedText, firstEntries, isInside } from '@halting/policy/files'

const mostBytes = 256 * 1024
const mostEntries = 2000

/** A folder of a project, of which small files are read, and none by a link that leads out of the project. */
export class ProjectFolder {
  readonly #path: string
  readonly #project: string

  constructor(path: string, project: string = path) {
    this.#path = path
    this.#project = realPath(project)
  }

  /** The first names in it; none where it cannot be read. */
  names(): readonly string[] {
    try {
      return firstEntries(this.#path, mostEntries).entries.map(({ name }) => name)
    } catch {
      return []
    }
  }

  /** The text of a file; '' for what is not there, is no text, or lies outside of the project. A large one is cut. */
  async text(name: string): Promise<string> {
    const path = this.#inside(name)
    if (path === undefined) return ''
    const read = await boundedText(path, mostBytes)
    return read.kind === 'text' ? read.text : ''
  }

  /** A folder in it; undefined for what is no folder of the project. */
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
