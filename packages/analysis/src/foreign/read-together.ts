import { digestOf } from '@halting/core/adapters'

/** Files of subagents by the session they belong to. */
export type AgentFiles = ReadonlyMap<string, readonly string[]>

/** State that is shared by files that are read together. */
export class ReadTogether {
  /** The file in which a line or run counts. */
  readonly #owners = new Map<string, string>()
  /** Listings of the subagents' files of a folder: without them, each session of a large folder would list it again. */
  readonly agents: Map<string, Promise<AgentFiles>> = new Map()
  /** The session of each subagent's file, so that each file is read once. */
  readonly parents: Map<string, string> = new Map()

  /** Whether a line counts in this file: it counts in the first file that contains it, also when that file is read again. */
  countsLine(uuid: string, path: string): boolean {
    return this.#counts(uuid, path)
  }

  /** Like `counts`, for a run that is identified by its beginning. */
  countsRun(beginning: unknown, path: string): boolean {
    return this.countsBeginning(digestOfBeginning(beginning), path)
  }

  /** The same for a run, by the digest of its beginning. */
  countsBeginning(digest: string, path: string): boolean {
    return this.#counts(`run ${digest}`, path)
  }

  /** Discards folder listings, because files may have been added. */
  forgetFolders(): void {
    this.agents.clear()
  }

  #counts(name: string, path: string): boolean {
    const owner = this.#owners.get(name)
    if (owner === undefined) this.#owners.set(name, path)
    return owner === undefined || owner === path
  }
}

/** A digest that identifies a run. */
export function digestOfBeginning(beginning: unknown): string {
  return digestOf(JSON.stringify(beginning))
}
