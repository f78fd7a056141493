import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'
import { maxCalls } from '../service/stream-reader.ts'
import { argumentsText, idFromSeed } from './call-format.ts'

/** One tool call, as far as its deltas have arrived. */
export interface PieceCall {
  readonly id: string
  /** The id from the service, or an empty text, and the index among the message's calls, or null. */
  readonly givenId: string
  readonly place: number | null
  name: string
  /** Input text so far. */
  input: string
  /** Additional fields that the service expects back with the call. */
  extra: JsonObject | undefined
  /**
   * The whole input so far is an empty object that arrived in one delta. It is either the complete input, or a prefix
   * before the deltas.
   */
  isOpening: boolean
  /** The name was repeated after the call was complete: another call of the same tool may begin here. */
  isNamedAgain: boolean
  readonly scanner: ObjectScanner
}

/** The effect of a delta: the call of the delta, whether the call is new, and the input that the delta added. */
export type PieceOutcome =
  | { readonly kind: 'taken'; readonly call: PieceCall; readonly isNew: boolean; readonly added: string }
  | { readonly kind: 'misfit'; readonly why: string }

/**
 * Assembles calls from their deltas.
 *
 * C1: a delta belongs to the call with its id. Without an id, or with an unknown id and no name, it belongs to the
 *     newest call at its index. Without an index, it belongs to the newest call.
 * C2: an unknown id with a name starts another call, and so does another name: some services give all calls the same
 *     index, the same id, or neither. The same name starts another call only if the current one is complete and the
 *     input differs.
 * C3: ids are unique in the message. A missing or duplicate id is replaced by one that is the same in every attempt.
 * C4: a call whose input is a complete object accepts no more input, and ignores a repetition of it. Only an empty
 *     object in one delta may be a prefix, which later input replaces.
 */
export class CallPieces {
  readonly #calls: PieceCall[] = []
  readonly #seed: string

  /** `seed` is the idempotency key of the request; ids are derived from it. */
  constructor(seed: string) {
    this.#seed = seed
  }

  get calls(): readonly PieceCall[] {
    return this.#calls
  }

  take(message: JsonObject): PieceOutcome {
    const piece = readPiece(message)
    const known = this.#find(piece)
    if (known === undefined && this.#calls.length >= maxCalls) return { kind: 'misfit', why: 'it had too many calls' }
    const call = known ?? this.#begin(piece)
    const taken = (added: string): PieceOutcome => ({ kind: 'taken', call, isNew: known === undefined, added })
    if (call.name === '') call.name = piece.name
    else if (piece.name !== '' && isSettled(call)) call.isNamedAgain = true
    if (piece.extra !== undefined) call.extra = { ...call.extra, ...piece.extra }
    // Ignore white space before the input.
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

/**
 * Detects when a text that arrives in chunks has become one complete JSON object. The scanner does not validate the
 * content.
 */
interface ObjectScanner {
  feed(text: string): void
  /**
   * Whether the outermost brace was closed, so that only white space can follow. Always false for a text that does not
   * start with an object.
   */
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
