import { isLineName, type LineName } from './line-chain.ts'

/** A place in a line: content that stands in another line. */
export interface Ref {
  readonly ref: LineName
}

/** Content that stands in other lines: in one, or block by block. */
export type ContentPlace = Ref | { readonly blocks: readonly Ref[] }

/** What a reader knows of contents: which stand in one line, and which in the lines of several results. */
export interface ReadContents {
  /** Contents in one line, by their names. */
  readonly contents: ReadonlyMap<LineName, unknown>
  /** Contents in the lines of several results. */
  readonly joined: readonly JoinedContent[]
}

/** The content of a message that is put together of results, and the lines of these. */
export interface JoinedContent {
  readonly content: object
  readonly lines: readonly LineName[]
}

/** Where contents of messages stand, by the content itself. */
export class ContentPlaces {
  readonly #places = new WeakMap<object, LineName | readonly LineName[]>()
  /** Of what the file held: entered once somebody asks, which most who go on with a session never do. */
  #before: ReadContents | undefined

  constructor(before: ReadContents | undefined) {
    this.#before = before
  }

  /** A content stands in this line, or block by block in these. */
  set(content: unknown, lines: LineName | readonly LineName[]): void {
    if (typeof content === 'object' && content !== null) this.#places.set(content, lines)
  }

  /** Undefined for a content that stands in no line, and for a text. */
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
