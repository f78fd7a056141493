import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'
import { mostCalls } from '../service/stream-reader.ts'
import { argumentsText, idFromSeed } from './call-format.ts'

/** One call of a tool, as far as its pieces have come. */
export interface PieceCall {
  readonly id: string
  /** What the service itself gives it: an id, or an empty text, and a place among the calls of the message, or null. */
  readonly givenId: string
  readonly place: number | null
  name: string
  /** The text of its input so far. */
  input: string
  /** Further fields that the service wants back with the call. */
  extra: JsonObject | undefined
  /** All of its input is an empty object that came in one piece: all there is, or what comes before the pieces. */
  isOpening: boolean
  /** Its name came again after it was whole: another call of the same tool may begin here. */
  isNamedAgain: boolean
  readonly scanner: ObjectScanner
}

/** What a piece did: to which call, whether that began with it, and the input that it added. */
export type PieceOutcome =
  | { readonly kind: 'taken'; readonly call: PieceCall; readonly isNew: boolean; readonly added: string }
  | { readonly kind: 'misfit'; readonly why: string }

/**
 * Puts the pieces of calls together.
 *
 * C1: a piece belongs to the call with its id; without one, or with an unknown one and no name, to the newest at its
 *     place; without a place to the newest of all.
 * C2: an unknown id with a name begins another call, and so does another name: some services give every call the same
 *     place, the same id, or neither. The same name begins another only where the call is whole and the input differs.
 * C3: ids are unique in the message: what comes without one, or with one that is taken, is given one that is the same
 *     in every attempt at the request.
 * C4: a call whose input is a whole object takes nothing more; that object once more is taken for a repetition. Only an
 *     empty one in one piece may be what a service begins with: what comes after it takes its place.
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

  take(message: JsonObject): PieceOutcome {
    const piece = readPiece(message)
    const known = this.#find(piece)
    if (known === undefined && this.#calls.length >= mostCalls) return { kind: 'misfit', why: 'it had too many calls' }
    const call = known ?? this.#begin(piece)
    const taken = (added: string): PieceOutcome => ({ kind: 'taken', call, isNew: known === undefined, added })
    if (call.name === '') call.name = piece.name
    else if (piece.name !== '' && isSettled(call)) call.isNamedAgain = true
    if (piece.extra !== undefined) call.extra = { ...call.extra, ...piece.extra }
    // White space before the input is none of it.
    if (call.input === '' && piece.input.trim() === '') return taken('')
    if (call.scanner.isWhole()) {
      if (piece.input.trim() === '' || isRepetition(call, piece.input)) return taken('')
      if (isSettled(call)) return { kind: 'misfit', why: `it had more input for the completed call ${call.id}` }
      call.input = ''
      call.scanner.reset()
    }
    call.isOpening = call.input === '' && /^\s*\{\s*\}\s*$/.test(piece.input)
    call.input += piece.input
    call.scanner.feed(piece.input)
    return taken(piece.input)
  }

  #find(piece: Piece): PieceCall | undefined {
    const { place, id, name } = piece
    const isHere = (call: PieceCall): boolean => place === null || call.place === null || call.place === place
    const newest = this.#calls.findLast(isHere)
    const own = id === '' ? newest : this.#calls.findLast((call) => call.givenId === id && isHere(call))
    if (own === undefined) return name === '' ? newest : undefined
    return isAnother(own, piece) ? undefined : own
  }

  #begin({ place, id, name }: Piece): PieceCall {
    const isTaken = id === '' || this.#calls.some((call) => call.id === id)
    const again = this.#calls.findLast((call) => call.isNamedAgain && call.place === place)
    const call: PieceCall = {
      id: isTaken ? idFromSeed(`${this.#seed} ${this.#calls.length}`) : id,
      givenId: id,
      place,
      name: name === '' ? (again?.name ?? '') : name,
      input: '',
      extra: undefined,
      isOpening: false,
      isNamedAgain: false,
      scanner: createObjectScanner(),
    }
    this.#calls.push(call)
    return call
  }
}

/** C2 */
function isAnother(call: PieceCall, { place, id, name, input }: Piece): boolean {
  if (name === '' ? !call.isNamedAgain : call.name === '') return false
  if (name !== '' && name !== call.name) return true
  const isMarked = id !== '' || place !== null
  if (!isMarked && name !== '') return call.scanner.isWhole()
  return isSettled(call) && input.trimStart().startsWith('{') && !isRepetition(call, input)
}

function isSettled(call: PieceCall): boolean {
  return call.scanner.isWhole() && !call.isOpening
}

function isRepetition(call: PieceCall, input: string): boolean {
  return input.trim() === call.input.trim()
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
    input: argumentsText(called.arguments),
    extra: isJsonObject(piece.extra_content) ? piece.extra_content : undefined,
  }
}

/** Tells when a text that comes in pieces has become one whole JSON object. It does not check what is inside. */
interface ObjectScanner {
  feed(text: string): void
  /** The outermost brace was closed: nothing but white space can follow. Never so for a text that begins otherwise. */
  isWhole(): boolean
  reset(): void
}

export function createObjectScanner(): ObjectScanner {
  let depth = 0
  let isInString = false
  let isEscaped = false
  let state: 'before' | 'inside' | 'whole' | 'other' = 'before'

  const feed = (text: string): void => {
    for (let index = 0; index < text.length; index++) {
      if (state === 'whole' || state === 'other') return
      const sign = text[index]
      if (isEscaped) isEscaped = false
      else if (isInString) {
        if (sign === '\\') isEscaped = true
        else if (sign === '"') isInString = false
      } else if (state === 'before') {
        if (sign === '{') {
          state = 'inside'
          depth = 1
        } else if (sign?.trim() !== '') state = 'other'
      } else if (sign === '"') isInString = true
      else if (sign === '{' || sign === '[') depth++
      else if (sign === '}' || sign === ']') {
        depth--
        if (depth === 0) state = sign === '}' ? 'whole' : 'other'
      }
    }
  }
  return {
    feed,
    isWhole: () => state === 'whole',
    reset() {
      depth = 0
      isInString = isEscaped = false
      state = 'before'
    },
  }
}
