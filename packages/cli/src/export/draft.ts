import { randomUUID } from 'node:crypto'
import { closeSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The name of a file while it is written, beside its place. What stands there is gone when a signal ends the program. */
export class DraftFile {
  readonly path: string
  readonly #target: string

  constructor(target: string) {
    this.#target = target
    this.path = join(dirname(target), `.halting-${randomUUID()}.part`)
    for (const signal of signals) process.on(signal, this.#end)
  }

  readonly #end = (signal: NodeJS.Signals): void => {
    this.remove()
    // Nobody else heard of it: it does what it does to any program.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }

  /** Puts it in its place; false where something is there. No signal comes in the middle. */
  place(): boolean {
    try {
      linkSync(this.path, this.#target)
    } catch (thrown) {
      if (isThere(thrown)) return false
      return this.#placeWithoutLink()
    }
    return true
  }

  /** Puts it in the place of what is there. */
  replace(): void {
    renameSync(this.path, this.#target)
  }

  /** It is written no more. */
  remove(): void {
    for (const signal of signals) process.off(signal, this.#end)
    rmSync(this.path, { force: true })
  }

  /** Some file systems have no second name for a file: it takes the place of an empty one that this program made. */
  #placeWithoutLink(): boolean {
    try {
      closeSync(openSync(this.#target, 'wx', 0o600))
    } catch (thrown) {
      if (isThere(thrown)) return false
      throw thrown
    }
    renameSync(this.path, this.#target)
    return true
  }
}

function isThere(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST'
}
