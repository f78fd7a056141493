// A line that summarizes the preceding lines, so that resuming reads their messages but not their steps (spec
// R-JOUR-12). Readers of all records skip it.
import type { FoldedPast, Iteration } from '@halting/core/steps'
import { crc32Of } from '../files/crc32.ts'
import { isLineName, linesNamedBy, longEntry, type LineName } from './line-chain.ts'

/** The content of a fold. Offsets count bytes from the first line that it covers. */
export interface FoldLine {
  /** Size and CRC-32 of the lines that it covers, up to the fold itself. */
  readonly bytes: number
  readonly crc: number
  /** Number of lines in the file, including this one. */
  readonly lines: number
  readonly items: readonly FoldItem[]
  /** Transition of the last iteration. */
  readonly transition: Iteration['transition']
  /** Figures at the last iteration of each running agent. */
  readonly spent: { readonly [scope: string]: unknown }
  /** The newest message of the main loop. */
  readonly newest: LineName | null
  readonly past: FoldedPast
}

/** The number of an id such as `run1/assistant:7`, if the previous id had the same prefix. */
export type ShortId = string | number

/** Shortens a sequence of entry ids, or restores it. */
export class ShortIds {
  /** Prefix of the last id. */
  #start = ''

  short(name: 'assistant' | 'tool_results', id: string): ShortId {
    const begin = `${this.#start}${name}:`
    if (this.#start !== '' && id.startsWith(begin)) {
      // Nearly all ids have the run of the previous one.
      const rest = id.slice(begin.length)
      const known = Number(rest)
      if (known >= 0 && Number.isSafeInteger(known) && rest === String(known)) return known
    }
    const at = id.lastIndexOf('/') + 1
    const number = Number(id.slice(at + name.length + 1))
    if (id !== `${id.slice(0, at)}${name}:${number}` || !Number.isSafeInteger(number) || number < 0) return id
    if (id.startsWith(this.#start) && at === this.#start.length && at > 0) return number
    this.#start = id.slice(0, at)
    return id
  }

  long(name: 'assistant' | 'tool_results', id: ShortId): string {
    if (typeof id === 'number') return `${this.#start}${name}:${id}`
    const at = id.lastIndexOf('/') + 1
    if (id.startsWith(`${name}:`, at) && at > 0) this.#start = id.slice(0, at)
    return id
  }
}

/** Entries of iterations, and lines to read unchanged, in order. */
export type FoldItem =
  /** A reply: entry id, line number, and offset and length of its message. */
  | readonly ['A', ShortId, number, number, number]
  /** Tool results: entry id, and for each result line number, offset and length of its message. */
  | readonly ['R', ShortId, ...number[]]
  /** The same in the first format, without line numbers. */
  | readonly ['a', string, number, number]
  | readonly ['r', string, ...number[]]
  /** Any other entry, as in its `lap` record. */
  | readonly ['e', unknown]
  /** A line, with its number if it is identified by that. */
  | readonly ['l', number, number]
  | readonly ['l', number, number, number]

/** Beginning of a fold, after the preceding line end. */
export const foldMark: string = '\n{"type":"halting","fold":{'

/**
 * A fold follows the first iteration after this many bytes, so that a reader of the remaining lines reads no more than
 * that and a turn.
 */
export const foldedBytes: number = 128 * 1_024

/** Larger segments have no fold: a reader loads them into memory at once. */
export const maxFoldedBytes: number = 4 * 1_024 * 1_024

/** Beginning of a reply's JSON in its line; the message itself follows. */
export const replyStart: string = '{"type":"message",'

/** Offset and length of a message in its line, in bytes. */
interface MessagePlace {
  readonly at: number
  readonly length: number
  readonly isReply: boolean
}

/** Offset of a line, and its message, if that is unchanged. */
interface Spot {
  readonly at: number
  readonly length: number
  readonly message: MessagePlace | undefined
}

/** The lines since the last fold, for the next one. */
export class OpenSegment {
  bytes = 0
  #crc = 0
  /** Lines that are not in the checksum yet: a short run never needs the checksum. */
  #pending: string[] = []
  #pendingLength = 0
  #items: FoldItem[] = []
  #ids: ShortIds = new ShortIds()
  readonly #spots = new Map<LineName, Spot>()

  /** Adds a written line, and its size. */
  wrote(line: string, length: number, uuid?: LineName, message?: MessagePlace): void {
    this.#note(length, uuid, message)
    if (this.bytes > maxFoldedBytes) return
    this.#pending.push(line)
    this.#pendingLength += length
    if (this.#pendingLength > foldedBytes / 2) this.#sum()
  }

  /** Adds a line that was read, including its end, and its name if it has a message. */
  read(bytes: Buffer, line: { readonly [field: string]: unknown }, name: LineName | undefined): void {
    if (this.canFold) this.#crc = crc32Of(bytes, this.#crc)
    if (name === undefined || !this.canFold) this.#note(bytes.length)
    else this.#note(bytes.length, name, messageIn(bytes, line))
  }

  /** Whether the segment is small enough for a fold. */
  get canFold(): boolean {
    return this.bytes <= maxFoldedBytes
  }

  #note(length: number, uuid?: LineName, message?: MessagePlace): void {
    const at = this.bytes
    this.bytes += length
    if (uuid === undefined || this.bytes > maxFoldedBytes) return
    this.#spots.set(uuid, { at, length: length - 1, message })
  }

  /** Adds the entries of a main loop iteration, as stored. */
  lap(refs: readonly unknown[]): void {
    if (!this.canFold) return
    for (const each of refs) {
      const plain = this.#itemOf(each)
      if (plain !== undefined) {
        this.#items.push(plain)
        continue
      }
      const ref = longEntry(each)
      const item = this.#replyOf(ref) ?? this.#resultsOf(ref)
      if (item !== undefined) {
        this.#items.push(item)
        continue
      }
      this.#linesOf(ref)
      // The reader inserts its messages.
      this.#items.push(['e', JSON.parse(JSON.stringify(ref))])
    }
  }

  /** Adds the last line, that of a start, an end or a rewind. Readers read it and its messages unchanged. */
  record(refs: readonly unknown[], bytes: number): void {
    if (!this.canFold) return
    for (const ref of refs) this.#linesOf(ref)
    this.#items.push(['l', this.bytes - bytes, bytes - 1])
  }

  /** Returns the fold to write next, and starts a new segment. */
  close(more: Omit<FoldLine, 'bytes' | 'crc' | 'items'>): FoldLine | undefined {
    this.#sum()
    const fold = { bytes: this.bytes, crc: this.#crc, items: this.#items, ...more }
    const canFold = this.canFold
    this.clear()
    return canFold ? fold : undefined
  }

  clear(): void {
    this.bytes = 0
    this.#crc = 0
    this.#pending = []
    this.#pendingLength = 0
    this.#items = []
    this.#ids = new ShortIds()
    this.#spots.clear()
  }

  #sum(): void {
    if (this.#pendingLength > 0) this.#crc = crc32Of(this.#pending.join(''), this.#crc)
    this.#pending = []
    this.#pendingLength = 0
  }

  /** Returns the item of a reply, or of a single result: nearly every entry is one. */
  #itemOf(ref: unknown): FoldItem | undefined {
    if (!Array.isArray(ref) || ref.length !== 3) return undefined
    const [kind, id, line] = ref as unknown as readonly ['a' | 'r', string, number]
    const spot = this.#spots.get(line)
    const place = spot?.message
    if (spot === undefined || place?.isReply !== (kind === 'a')) return undefined
    const short = this.#ids.short(kind === 'a' ? 'assistant' : 'tool_results', id)
    return [kind === 'a' ? 'A' : 'R', short, line, spot.at + place.at, place.length] as FoldItem
  }

  #replyOf(ref: unknown): FoldItem | undefined {
    const { kind, id, message, ...more } = ref as { readonly [field: string]: unknown }
    if (kind !== 'assistant' || !isLineName(message) || Object.keys(more).length > 0) return undefined
    const spot = this.#spots.get(message)
    if (spot?.message?.isReply !== true) return undefined
    const { length } = spot.message
    const at = spot.at + spot.message.at
    return typeof message === 'number'
      ? ['A', this.#ids.short('assistant', String(id)), message, at, length]
      : ['a', String(id), at, length]
  }

  #resultsOf(ref: unknown): FoldItem | undefined {
    const { kind, id, message, origin, ...more } = ref as { readonly [field: string]: unknown }
    if (kind !== 'user' || origin !== 'tool_results' || Object.keys(more).length > 0) return undefined
    const places: number[] = []
    let named = 0
    for (const name of linesNamedBy(message)) {
      const spot = this.#spots.get(name)
      const place = spot?.message
      if (spot === undefined || place === undefined || place.isReply) return undefined
      if (typeof name === 'number') named = places.push(name)
      places.push(spot.at + place.at, place.length)
    }
    if (places.length === 0) return undefined
    return named > 0 ? ['R', this.#ids.short('tool_results', String(id)), ...places] : ['r', String(id), ...places]
  }

  #linesOf(ref: unknown): void {
    for (const uuid of linesOfEntry(ref)) {
      const spot = this.#spots.get(uuid)
      if (spot === undefined) continue
      const { at, length } = spot
      this.#items.push(typeof uuid === 'number' ? ['l', at, length, uuid] : ['l', at, length])
      // Include each line only once.
      this.#spots.delete(uuid)
    }
  }
}

/** Returns the lines that an entry refers to. */
function linesOfEntry(ref: unknown): readonly LineName[] {
  const { message, messages } = longEntry(ref) as { readonly message?: unknown; readonly messages?: readonly unknown[] }
  return Array.isArray(messages) && !isLineName(message) ? messages.flatMap(linesNamedBy) : linesNamedBy(message)
}

/** Returns the place of the message in a line that was read; undefined if it is not where a writer puts it. */
function messageIn(bytes: Buffer, line: { readonly [field: string]: unknown }): MessagePlace | undefined {
  const { parentUuid, isSidechain, agentId, type, message, uuid, payloads } = line
  if (payloads !== undefined || typeof message !== 'object') return undefined
  const json = JSON.stringify(message)
  const place = messagePlace(startOf({ parentUuid, isSidechain, agentId, type }), json, type)
  const found = uuid === undefined ? `${json},"timestamp":` : `${json},"uuid":${JSON.stringify(uuid)},`
  const isThere = bytes.toString('utf8', place.at, place.at + Buffer.byteLength(found)) === found
  return isThere ? place : undefined
}

/** Returns the beginning of a line, up to its message. */
export function startOf(fields: { readonly [field: string]: unknown }): string {
  return `${JSON.stringify(fields).slice(0, -1)},"message":`
}

/** Returns the place of a message in its line, in bytes. */
export function messagePlace(start: string, json: string, type: unknown): MessagePlace {
  const isReply = type === 'assistant' && (json.startsWith(replyStart) || !json.startsWith('{"type":'))
  return { at: Buffer.byteLength(start), length: Buffer.byteLength(json), isReply }
}
