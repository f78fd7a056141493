import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The folder for miniature machines: not `/tmp`, which confined commands can write. */
export function folderForMachines(): string {
  const folder = join(homedir(), '.cache/halting-tests')
  mkdirSync(folder, { recursive: true })
  return folder
}

/** The contents of a folder: for each path its kind, mode, content and, for files, time. */
export function lookAt(root: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const look = (folder: string, prefix: string): void => {
    // Names are bytes.
    for (const name of readdirSync(Buffer.from(folder, 'latin1'), 'latin1')) {
      const shown = `${prefix}${name}`
      const place = Buffer.from(`${folder}/${name}`, 'latin1')
      const stats = lstatSync(place)
      const mode = `${(stats.mode & 0o7777).toString(8)} ${stats.uid}`
      if (stats.isDirectory()) {
        found.set(shown, `folder ${mode}`)
        look(`${folder}/${name}`, `${shown}/`)
      } else if (stats.isSymbolicLink()) found.set(shown, `link ${readlinkSync(place)}`)
      else if (stats.isFile())
        found.set(
          shown,
          `file ${mode} ${stats.mtimeMs} ${createHash('sha1').update(readFileSync(place)).digest('hex')}`,
        )
      else found.set(shown, 'special')
    }
  }
  look(root, '')
  return found
}

/** Paths that exist in only one of them, or differ. */
export function changesBetween(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path))
}

/** A copy of a folder, from which it is restored. */
export class Restorable {
  readonly #root: string
  readonly #copy: string
  readonly before: ReadonlyMap<string, string>

  constructor(root: string) {
    this.#root = root
    this.#copy = `${root}.copy`
    execFileSync('cp', ['-a', root, this.#copy])
    this.before = lookAt(root)
  }

  restore(): void {
    execFileSync('find', [this.#root, '-mindepth', '1', '-delete'])
    execFileSync('cp', ['-a', `${this.#copy}/.`, this.#root])
  }

  remove(): void {
    for (const folder of [this.#root, this.#copy]) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
