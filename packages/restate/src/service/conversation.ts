import { HaltingError } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { wholeRecords, type KeptRecord } from '../engine/batch.ts'
import { keptFormat } from '../engine/format.ts'
import type { PayloadReference, PayloadStore } from '../payloads/payload-store.ts'

/** What is kept of an object, by keys. */
export interface State {
  get<T>(key: string): Promise<T | null>
  set(key: string, value: unknown): void
  clear(key: string): void
}

/** Of what was said in the runs that are over, where it is. */
interface Contents {
  readonly format: number
  readonly pieces: readonly Piece[]
  /** The number of the next piece. */
  readonly next: number
}

/** Some records, one after another: in the state under their number, or in the payload store. */
interface Piece {
  readonly number: number
  readonly bytes: number
  readonly reference?: PayloadReference
}

type Once = (effect: () => Promise<PayloadReference>) => Promise<PayloadReference>

/** A piece has at most so many, but for a record that is larger. */
const mostPieceBytes = 1024 * 1024

const contentsKey = 'conversation'
const pieceKey = ({ number }: { readonly number: number }): string => `conversation/${number}`

/** Of the records of runs that ended what the next run has to know: what was said, how they ended and what they cost. */
export function isOfConversation({ type }: StepRecord): boolean {
  return type !== 'intent' && type !== 'result' && type !== 'control'
}

/**
 * What a session said before, as its object keeps it.
 * P1: what is appended writes itself and pieces that are at most twice as large, so a byte is written again some twenty times at most, however long the session gets.
 * P2: what is in the payload store is never written again, and is read only by an attempt that begins work. P3: each attempt asks the engine for the same.
 */
export class Conversation {
  readonly #state: State
  readonly #store: PayloadStore | undefined
  #contents: Contents
  /** Of pieces in the state, by their numbers. */
  readonly #inline: Map<number, readonly KeptRecord[]>

  private constructor(
    state: State,
    store: PayloadStore | undefined,
    contents: Contents,
    inline: Map<number, readonly KeptRecord[]>,
  ) {
    this.#state = state
    this.#store = store
    this.#contents = contents
    this.#inline = inline
  }

  static async read(state: State, store: PayloadStore | undefined): Promise<Conversation> {
    const contents = (await state.get<Contents>(contentsKey)) ?? { format: keptFormat, pieces: [], next: 1 }
    const inline = new Map<number, readonly KeptRecord[]>()
    if (contents.format <= keptFormat)
      // The engine's promises are awaited one at a time.
      for (const piece of contents.pieces)
        if (piece.reference === undefined)
          inline.set(piece.number, (await state.get<readonly KeptRecord[]>(pieceKey(piece))) ?? [])
    return new Conversation(state, store, contents, inline)
  }

  /** What it was written in. Nothing but this can be said of it where that is a later one. */
  get format(): number {
    return this.#contents.format
  }

  /** All of its records. Asks nothing of the engine. */
  async records(): Promise<readonly StepRecord[]> {
    const pieces = await Promise.all(this.#contents.pieces.map((piece) => this.#recordsOf(piece)))
    return pieces.flat()
  }

  async #recordsOf({ number, reference }: Piece): Promise<readonly StepRecord[]> {
    const kept = reference === undefined ? this.#inline.get(number) : await this.#stored(reference)
    return wholeRecords(kept ?? [], this.#store)
  }

  async #stored(reference: PayloadReference): Promise<readonly KeptRecord[]> {
    if (this.#store === undefined)
      throw new HaltingError('driver', 'What was said is in a payload store, and none is given.')
    // `append` put it there.
    return JSON.parse(await this.#store.get(reference)) as readonly KeptRecord[]
  }

  /** `once` does something once, whatever attempt does it. */
  async append(records: readonly KeptRecord[], once: Once): Promise<void> {
    if (records.length === 0) return
    for (const some of inPieces(records)) await this.#appendPiece(some, once)
    this.#state.set(contentsKey, this.#contents)
  }

  async #appendPiece(records: readonly KeptRecord[], once: Once): Promise<void> {
    let all = records
    let text = JSON.stringify(all)
    const pieces = [...this.#contents.pieces]
    for (let last = pieces.at(-1); last !== undefined && mayJoin(last, text); last = pieces.at(-1)) {
      all = [...(this.#inline.get(last.number) ?? []), ...all]
      text = JSON.stringify(all)
      this.#inline.delete(last.number)
      this.#state.clear(pieceKey(last))
      pieces.pop()
    }
    const number = this.#contents.next
    const bytes = Buffer.byteLength(text)
    const store = this.#store
    if (store !== undefined && bytes > store.inlineBytes) {
      pieces.push({ number, bytes, reference: await once(() => store.put(text)) })
    } else {
      pieces.push({ number, bytes })
      this.#inline.set(number, all)
      this.#state.set(pieceKey({ number }), all)
    }
    this.#contents = { format: keptFormat, pieces, next: number + 1 }
  }
}

function mayJoin(last: Piece, text: string): boolean {
  const bytes = Buffer.byteLength(text)
  return last.reference === undefined && last.bytes <= 2 * bytes && last.bytes + bytes <= mostPieceBytes
}

function inPieces(records: readonly KeptRecord[]): readonly (readonly KeptRecord[])[] {
  const pieces: KeptRecord[][] = []
  let bytes = Infinity
  for (const record of records) {
    bytes += Buffer.byteLength(JSON.stringify(record))
    if (bytes > mostPieceBytes) {
      pieces.push([])
      bytes = Buffer.byteLength(JSON.stringify(record))
    }
    pieces.at(-1)?.push(record)
  }
  return pieces
}
