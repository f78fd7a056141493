import { digestOf, isJsonObject } from '@halting/core'
import type { Json, JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'
import { createObjectScanner } from './object-scanner.ts'
import type { ObjectScanner } from './object-scanner.ts'

/** One call of a tool, as far as its pieces have come. */
export interface PieceCall {
  readonly id: string
  /** The place that the service gives it among the calls of the message; null when it gives none. */
  readonly place: number | null
  name: string
  /** The text of its input so far. */
  input: string
  /** Further fields that the service wants back with the call. */
  extra: JsonObject | undefined
  readonly scanner: ObjectScanner
}

/** What a piece did: to which call, whether that began with it, and the input that it added. */
export type PieceOutcome =
  | { readonly kind: 'taken'; readonly call: PieceCall; readonly isNew: boolean; readonly added: string }
  | { readonly kind: 'misfit'; readonly why: string }

/**
 * Puts the pieces of calls together.
 *
 * C1: a piece belongs to the call with its place; without one to the call with its id; without both to the newest.
 * C2: a piece with a name and an id that its place does not have begins another call; so does one with a name alone
 *     when the call at its place is whole: some services give every call the same place, or no id.
 * C3: ids are unique in the message: what comes without one, or with one that is taken, is given one that is the same
 *     in every attempt at the request.
 * C4: a call whose input is a whole object takes nothing more; that object once more is taken for a repetition.
 */
export class CallPieces {
  readonly #calls: PieceCall[] = []
  readonly #seed: string

  /** `seed` is the request's own key: ids are made of it. */
  constructor(seed: string) {
    this.#seed = seed
  }

  get calls(): readonly PieceCall[] {
    return this.#calls
  }

  take(piece: JsonObject): PieceOutcome {
    const said = readPiece(piece)
    const known = this.#find(said)
    const call = known ?? this.#begin(said)
    if (said.name !== '' && call.name === '') call.name = said.name
    if (said.extra !== undefined) call.extra = { ...call.extra, ...said.extra }
    const taken = (added: string): PieceOutcome => ({ kind: 'taken', call, isNew: known === undefined, added })
    if (said.input === '') return taken('')
    if (call.scanner.isWhole() && said.input.trim() !== '') {
      // An empty object is what some services begin with, before the pieces.
      if (call.input.trim() === '{}') return this.#restart(call, said.input, taken)
      if (said.input.trim() === call.input.trim()) return taken('')
      return { kind: 'misfit', why: `more input came for the call ${call.id}, which was whole` }
    }
    call.input += said.input
    call.scanner.feed(said.input)
    return taken(said.input)
  }

  #restart(call: PieceCall, input: string, taken: (added: string) => PieceOutcome): PieceOutcome {
    call.input = input
    call.scanner.reset()
    call.scanner.feed(input)
    return taken(input)
  }

  #find({ place, id, name }: Piece): PieceCall | undefined {
    if (place === null) return this.#findWithoutPlace(id, name)
    const call = this.#calls.findLast((other) => other.place === place)
    if (call === undefined) return undefined
    const isOther = id !== '' && id !== call.id && name !== ''
    const isNext = id === '' && name !== '' && call.name !== '' && call.scanner.isWhole()
    return isOther || isNext ? undefined : call
  }

  #findWithoutPlace(id: string, name: string): PieceCall | undefined {
    if (id !== '') {
      const call = this.#calls.findLast((other) => other.id === id)
      if (call !== undefined || name !== '') return call
    }
    const newest = this.#calls.at(-1)
    return name !== '' && newest?.name !== '' ? undefined : newest
  }

  #begin({ place, id, name }: Piece): PieceCall {
    const isTaken = id === '' || this.#calls.some((call) => call.id === id)
    const ownId = isTaken ? madeId(`${this.#seed} ${this.#calls.length}`) : id
    const call = { id: ownId, place, name, input: '', extra: undefined, scanner: createObjectScanner() }
    this.#calls.push(call)
    return call
  }
}

/** Nine letters and digits: the strictest of these services takes no others. */
export function madeId(seed: string): string {
  return digestOf(`call ${seed}`)
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .padEnd(9, '0')
    .slice(0, 9)
}

interface Piece {
  readonly place: number | null
  readonly id: string
  readonly name: string
  readonly input: string
  readonly extra: JsonObject | undefined
}

function readPiece(piece: JsonObject): Piece {
  const called = isJsonObject(piece.function) ? piece.function : {}
  return {
    place: typeof piece.index === 'number' ? piece.index : null,
    id: stringOf(piece.id),
    name: stringOf(called.name),
    input: inputText(called.arguments),
    extra: isJsonObject(piece.extra_content) ? piece.extra_content : undefined,
  }
}

/** Some services give the object itself instead of its text. */
function inputText(input: Json | undefined): string {
  return isJsonObject(input) ? JSON.stringify(input) : stringOf(input)
}
