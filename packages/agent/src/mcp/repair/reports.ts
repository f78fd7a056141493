import type { JsonObject } from '@halting/core'

/** Reports an unusable part of a result as a clause: `its tool x is left out: it has no name`. */
export type Report = (problem: string) => void

/**
 * Makes a result acceptable to the client. Parts that the client would reject are repaired, or removed and reported.
 */
export type Repair = (result: JsonObject, report: Report) => JsonObject

/** Number of problems of one list that are reported individually; further problems are only counted. */
const maxOfList = 20

/** Problems of a server's lists, by the method that requested the list. */
export class Reports {
  readonly #problems = new Map<string, string[]>()
  readonly #more = new Map<string, number>()

  add(method: string, problem: string): void {
    const problems = this.#problems.get(method) ?? []
    this.#problems.set(method, problems)
    if (problems.length < maxOfList) problems.push(problem)
    else this.#more.set(method, (this.#more.get(method) ?? 0) + 1)
  }

  /** Returns the problems since the last call. */
  take(method: string): readonly string[] {
    const problems = this.#problems.get(method) ?? []
    const more = this.#more.get(method) ?? 0
    this.#problems.delete(method)
    this.#more.delete(method)
    return more === 0 ? problems : [...problems, `${more} more`]
  }
}
