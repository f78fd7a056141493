/** Lines in which contents of messages stand, by the content itself. */
export class WrittenContents {
  readonly #lines = new WeakMap<object, string>()
  /** Of what the file held: entered once somebody asks, which most who go on with a session never do. */
  #before: ReadonlyMap<string, unknown> | undefined

  constructor(before: ReadonlyMap<string, unknown> | undefined) {
    this.#before = before
  }

  set(content: unknown, uuid: string): void {
    if (typeof content === 'object' && content !== null) this.#lines.set(content, uuid)
  }

  /** The uuid of the line; undefined for a content that stands in none, and for a text. */
  lineOf(content: string | object): string | undefined {
    if (typeof content === 'string') return undefined
    for (const [uuid, each] of this.#before ?? []) this.set(each, uuid)
    this.#before = undefined
    return this.#lines.get(content)
  }
}
