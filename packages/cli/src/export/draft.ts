import { randomUUID } from 'node:crypto'
import { closeSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** A temporary file next to its target. It is removed if a signal ends the program. */
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
    // No other listener handles the signal, so it has its default effect.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }

  /** Renames the draft to the target; false if the target exists. Synchronous, so that no signal interrupts it. */
  place(): boolean {
    try {
      linkSync(this.path, this.#target)
    } catch (thrown) {
      if (isThere(thrown)) return false
      return this.#placeWithoutLink()
    }
    return true
  }

  /** Replaces the target. */
  replace(): void {
    renameSync(this.path, this.#target)
  }

  /** Removes the draft, if it still exists. */
  remove(): void {
    for (const signal of signals) process.off(signal, this.#end)
    rmSync(this.path, { force: true })
  }

  /** Some file systems have no hard links: the draft then replaces an empty file that this method creates. */
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
