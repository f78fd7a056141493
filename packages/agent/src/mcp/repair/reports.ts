import type { JsonObject } from '@halting/core'

/** Reports a part of a result that cannot be used, as a clause: `its tool x is left out: it has no name`. */
export type Report = (problem: string) => void

/** Makes a result one that the client accepts. Parts that it would reject are repaired, or left out and reported. */
export type Repair = (result: JsonObject, report: Report) => JsonObject

/** Problems of one list that are reported one by one; of the others only how many there are. */
const mostOfList = 20

/** What of a server's lists could not be used, by the method that asked for the list. */
export class Reports {
  readonly #problems = new Map<string, string[]>()
  readonly #more = new Map<string, number>()

  add(method: string, problem: string): void {
    const problems = this.#problems.get(method) ?? []
    this.#problems.set(method, problems)
    if (problems.length < mostOfList) problems.push(problem)
    else this.#more.set(method, (this.#more.get(method) ?? 0) + 1)
  }

  /** Those that came since the last time. */
  take(method: string): readonly string[] {
    const problems = this.#problems.get(method) ?? []
    const more = this.#more.get(method) ?? 0
    this.#problems.delete(method)
    this.#more.delete(method)
    return more === 0 ? problems : [...problems, `${more} more`]
  }
}
