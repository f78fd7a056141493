import { digestOf } from '@halting/core/adapters'

/** Files of subagents by the session that they are of. */
export type AgentFiles = ReadonlyMap<string, readonly string[]>

/** What files that are read together share. */
export class ReadTogether {
  /** Which file a line, or a run, counts in. */
  readonly #owners = new Map<string, string>()
  /** Files of subagents in a folder: of a great many sessions in it each would list all of it. */
  readonly agents: Map<string, Promise<AgentFiles>> = new Map()
  /** The sessions that files of subagents are of: each is looked at once. */
  readonly parents: Map<string, string> = new Map()

  /** Whether a line counts in this file: it does in the first one that holds it, also when that is read again. */
  countsLine(uuid: string, path: string): boolean {
    return this.#counts(uuid, path)
  }

  /** The same for a run, by all that is known of its beginning. */
  countsRun(beginning: unknown, path: string): boolean {
    return this.countsBeginning(digestOfBeginning(beginning), path)
  }

  /** The same, by the digest of its beginning. */
  countsBeginning(digest: string, path: string): boolean {
    return this.#counts(`run ${digest}`, path)
  }

  /** Folders are looked at anew: files may have come. */
  forgetFolders(): void {
    this.agents.clear()
  }

  #counts(name: string, path: string): boolean {
    const owner = this.#owners.get(name)
    if (owner === undefined) this.#owners.set(name, path)
    return owner === undefined || owner === path
  }
}

/** What a run is known by among others. */
export function digestOfBeginning(beginning: unknown): string {
  return digestOf(JSON.stringify(beginning))
}
