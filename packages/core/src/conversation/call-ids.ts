// Spec R-TOOL-14.
/** The ids that the calls of a conversation have. */
export class CallIds {
  /** By id: the lowest number that may still be free behind it. All below are taken. */
  readonly #numbers = new Map<string, number>()

  add(id: string): void {
    if (!this.#numbers.has(id)) this.#numbers.set(id, 2)
  }

  /** The id itself when no call has it, here or in `also`; else with the lowest number behind it that makes it one: `id_2`. */
  free(id: string, also?: ReadonlySet<string>): string {
    if (!this.#numbers.has(id) && also?.has(id) !== true) return id
    let number = this.#numbers.get(id) ?? 2
    while (this.#numbers.has(`${id}_${number}`)) number++
    // What is in `also` alone may never come to be, so it moves nothing on.
    if (this.#numbers.has(id)) this.#numbers.set(id, number)
    while (this.#numbers.has(`${id}_${number}`) || also?.has(`${id}_${number}`) === true) number++
    return `${id}_${number}`
  }
}
