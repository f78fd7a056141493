import type { RecordedStage } from './stage-record.ts'

/** Names for the stages of a session; each is given once. */
export class StageIds {
  readonly #taken: Set<string>

  constructor(recorded: readonly RecordedStage[] = []) {
    this.#taken = new Set(recorded.map(({ id }) => id))
  }

  /** The name, with a number where it was given before. */
  next(name: string): string {
    let id = name
    for (let count = 2; this.#taken.has(id); count++) id = `${name}.${count}`
    this.#taken.add(id)
    return id
  }
}
