import { HaltingError } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { unpackRecords } from '../engine/batch.ts'
import { storageFormat, compatibleFormat } from '../engine/format.ts'
import { isPacked, engineTextNames, type StoredRecord } from '../engine/packed-record.ts'
import { SessionTexts } from '../engine/session-texts.ts'
import type { PayloadReference, PayloadStore } from '../payloads/payload-store.ts'
import { restoreCarriedRun, type CarriedState, type CarriedRun } from './carried-run.ts'
import { readTexts } from './stored-records.ts'

/** The state of an object, by key. */
export interface ObjectState {
  get<T>(key: string): Promise<T | null>
  set(key: string, value: unknown): void
  clear(key: string): void
}

/** Where the records of the finished runs are. */
interface Contents {
  readonly format: number
  readonly pieces: readonly Piece[]
  /** The number of the next piece. */
  readonly next: number
  /** The run that continues in the next invocation. */
  readonly carried?: CarriedState & {
    /** How many values hold the records of its agents. */
    readonly pages: number
  }
}

/** What an invocation leaves to the next one: see `CarriedState`. */
export interface Handover extends CarriedState {
  /** Records of agents that run in parallel with the run. */
  readonly agents: readonly StoredRecord[]
}

/** Consecutive records, stored in the state under their number or in the payload store. */
interface Piece {
  readonly number: number
  readonly bytes: number
  readonly reference?: PayloadReference
  /** Hashes of the long texts of a piece in the payload store; absent for none. */
  readonly texts?: readonly string[]
}

type Once = (effect: () => Promise<PayloadReference>) => Promise<PayloadReference>

/** Maximum size of a piece, unless a single record is larger. */
const maxPieceBytes = 1024 * 1024

const contentsKey = 'conversation'
const agentsKey = (page: number): string => `carried/${page}`
const pieceKey = ({ number }: { readonly number: number }): string => `conversation/${number}`

/** The run that continues in the next invocation of a session; undefined for none. */
export async function readCarriedState(state: Pick<ObjectState, 'get'>): Promise<CarriedState | undefined> {
  return (await state.get<Contents>(contentsKey))?.carried
}

/** Whether the next run needs a record of a finished run: its conversation, its ending and its cost. */
export function belongsToConversation({ type }: StepRecord): boolean {
  return type !== 'intent' && type !== 'result' && type !== 'control'
}

/**
 * The conversation of a session, as its object stores it.
 * P1: appending rewrites only pieces that are at most twice as large as the new one. So each byte is rewritten about twenty times at most, however long the session gets. Long
 * texts are separate and are never rewritten.
 * P2: pieces in the payload store are never rewritten, and only an attempt that begins work reads them.
 * P3: every attempt makes the same calls to the engine.
 * P4: data is in the format of earlier versions, unless it has long texts or a carried run.
 */
export class Conversation {
  readonly #state: ObjectState
  readonly #store: PayloadStore | undefined
  #contents: Contents
  /** Pieces in the state, by number. */
  readonly #inline: Map<number, readonly StoredRecord[]>
  /** Records of agents of the run that continues. */
  readonly #agents: readonly StoredRecord[]
  /** All long texts of the conversation. */
  readonly texts: SessionTexts

  private constructor(
    {
      state,
      store,
      contents,
    }: { readonly state: ObjectState; readonly store: PayloadStore | undefined; contents: Contents },
    inline: Map<number, readonly StoredRecord[]>,
    agents: readonly StoredRecord[],
    texts: SessionTexts,
  ) {
    this.#state = state
    this.#store = store
    this.#contents = contents
    this.#inline = inline
    this.#agents = agents
    this.texts = texts
  }

  static async read(state: ObjectState, store: PayloadStore | undefined): Promise<Conversation> {
    const contents = (await state.get<Contents>(contentsKey)) ?? { format: compatibleFormat, pieces: [], next: 1 }
    const inline = new Map<number, readonly StoredRecord[]>()
    const texts = new SessionTexts()
    if (contents.format > storageFormat) return new Conversation({ state, store, contents }, inline, [], texts)
    // The engine's promises must be awaited one at a time.
    for (const piece of contents.pieces)
      if (piece.reference === undefined)
        inline.set(piece.number, (await state.get<readonly StoredRecord[]>(pieceKey(piece))) ?? [])
    const agents: StoredRecord[] = []
    for (let page = 0; page < (contents.carried?.pages ?? 0); page++)
      agents.push(...((await state.get<readonly StoredRecord[]>(agentsKey(page))) ?? []))
    const named = [
      ...contents.pieces.flatMap((piece) => piece.texts ?? []),
      ...engineTextNames([...[...inline.values()].flat(), ...agents]),
    ]
    await readTexts(state, named, texts)
    return new Conversation({ state, store, contents }, inline, agents, texts)
  }

  /** Format in which the conversation was written. If the format is a later one, nothing else can be read. */
  get format(): number {
    return this.#contents.format
  }

  /** The run that the previous invocation left to this one. */
  get carried(): CarriedState | undefined {
    return this.#contents.carried
  }

  /** All its records, and those of a run that continues. Makes no call to the engine. */
  async records(): Promise<CarriedRun> {
    const pieces = await Promise.all(this.#contents.pieces.map((piece) => this.#recordsOf(piece)))
    return restoreCarriedRun(pieces.flat(), this.carried, await this.#wholeAgents())
  }

  /** Records of the agents of the run that continues, with their steps. */
  async agents(): Promise<readonly { readonly key: string; readonly kept: StoredRecord }[]> {
    const whole = await this.#wholeAgents()
    return this.#agents.map((stored, index) => {
      const record = whole[index]
      return { key: record !== undefined && 'key' in record ? record.key : '', kept: stored }
    })
  }

  #wholeAgents(): Promise<readonly StepRecord[]> {
    return unpackRecords(this.#agents, this.#store, this.texts)
  }

  async #recordsOf({ number, reference }: Piece): Promise<readonly StepRecord[]> {
    const stored = reference === undefined ? this.#inline.get(number) : await this.#stored(reference)
    return unpackRecords(stored ?? [], this.#store, this.texts)
  }

  async #stored(reference: PayloadReference): Promise<readonly StoredRecord[]> {
    if (this.#store === undefined)
      throw new HaltingError(
        'driver',
        'The conversation is in a payload store, and this worker has none. Configure the store of the other workers.',
      )
    // This cast is safe: `append` wrote the text.
    return JSON.parse(await this.#store.get(reference)) as readonly StoredRecord[]
  }

  /** Appends records. `once` runs an effect once across attempts. `handover`: the run continues in another invocation. */
  async append(records: readonly StoredRecord[], once: Once, handover?: Handover): Promise<void> {
    const before = this.#contents.carried
    if (records.length === 0 && before === undefined && handover === undefined) return
    for (const some of splitIntoPieces(records)) await this.#appendPiece(some, once)
    const { carried: _before, ...contents } = this.#contents
    for (let page = 0; page < (before?.pages ?? 0); page++) this.#state.clear(agentsKey(page))
    this.#contents =
      handover === undefined ? contents : { ...contents, format: storageFormat, carried: this.#carry(handover) }
    this.#state.set(contentsKey, this.#contents)
  }

  #carry({ agents, ...carried }: Handover): NonNullable<Contents['carried']> {
    const pages = splitIntoPieces(agents)
    for (const [page, some] of pages.entries()) this.#state.set(agentsKey(page), some)
    return { ...carried, pages: pages.length }
  }

  async #appendPiece(records: readonly StoredRecord[], once: Once): Promise<void> {
    let all = records
    let text = JSON.stringify(all)
    const pieces = [...this.#contents.pieces]
    for (let last = pieces.at(-1); last !== undefined && canMerge(last, text); last = pieces.at(-1)) {
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
      const texts = engineTextNames(all)
      const reference = await once(() => store.put(text))
      pieces.push({ number, bytes, reference, ...(texts.length > 0 && { texts }) })
    } else {
      pieces.push({ number, bytes })
      this.#inline.set(number, all)
      this.#state.set(pieceKey({ number }), all)
    }
    const format = all.some(isPacked) ? storageFormat : Math.min(this.#contents.format, storageFormat)
    this.#contents = { ...this.#contents, format, pieces, next: number + 1 }
  }
}

function canMerge(last: Piece, text: string): boolean {
  const bytes = Buffer.byteLength(text)
  return last.reference === undefined && last.bytes <= 2 * bytes && last.bytes + bytes <= maxPieceBytes
}

function splitIntoPieces(records: readonly StoredRecord[]): readonly (readonly StoredRecord[])[] {
  const pieces: StoredRecord[][] = []
  let bytes = Infinity
  for (const record of records) {
    bytes += Buffer.byteLength(JSON.stringify(record))
    if (bytes > maxPieceBytes) {
      pieces.push([])
      bytes = Buffer.byteLength(JSON.stringify(record))
    }
    pieces.at(-1)?.push(record)
  }
  return pieces
}
