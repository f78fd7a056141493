import { isLineName, type LineName } from './line-chain.ts'

/** A reference to content in another line. */
export interface Ref {
  readonly ref: LineName
}

/** Content in other lines: in one, or block by block. */
export type ContentPlace = Ref | { readonly blocks: readonly Ref[] }

/** Contents that a reader found: in one line, or in the lines of several results. */
export interface ReadContents {
  /** Contents in one line, by line name. */
  readonly contents: ReadonlyMap<LineName, unknown>
  /** Contents in the lines of several results. */
  readonly joined: readonly JoinedContent[]
}

/** Content that is combined from results, and their lines. */
export interface JoinedContent {
  readonly content: object
  readonly lines: readonly LineName[]
}

/** Places of message contents, by content object. */
export class ContentPlaces {
  readonly #places = new WeakMap<object, LineName | readonly LineName[]>()
  /** Contents that were already in the file, added on demand: most readers never need them. */
  #before: ReadContents | undefined

  constructor(before: ReadContents | undefined) {
    this.#before = before
  }

  /** Sets the line of a content, or the lines of its blocks. */
  set(content: unknown, lines: LineName | readonly LineName[]): void {
    if (typeof content === 'object' && content !== null) this.#places.set(content, lines)
  }

  /** Returns undefined for a text, and for content that is in no line. */
  placeOf(content: string | object): ContentPlace | undefined {
    if (typeof content === 'string') return undefined
    if (this.#before !== undefined) {
      const { contents, joined } = this.#before
      this.#before = undefined
      for (const [name, each] of contents) this.set(each, name)
      for (const each of joined) this.set(each.content, each.lines)
    }
    const lines = this.#places.get(content)
    if (lines === undefined || isLineName(lines)) return lines === undefined ? undefined : { ref: lines }
    return { blocks: lines.map((ref) => ({ ref })) }
  }
}
