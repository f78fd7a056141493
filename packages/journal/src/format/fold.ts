// A line that sums up the lines before it, so that who goes on with a session reads the messages of these and not their steps (spec R-JOUR-12). Who wants all
// records passes it over.
import type { FoldedPast, Iteration } from '@halting/core/steps'
import { crc32Of } from '../files/crc32.ts'
import { isLineName, linesNamedBy, longEntry, type LineName } from './line-chain.ts'

/** What stands in such a line. Places are counted in bytes from where the lines begin that it is of. */
export interface FoldLine {
  /** The lines that it is of have so many bytes, up to itself, and this CRC-32. */
  readonly bytes: number
  readonly crc: number
  /** Of the file, with this one. */
  readonly lines: number
  readonly items: readonly FoldItem[]
  /** Of the last lap. */
  readonly transition: Iteration['transition']
  /** What was spent at the last lap of each agent that goes on. */
  readonly spent: { readonly [scope: string]: unknown }
  /** The newest message of the main loop. */
  readonly newest: LineName | null
  readonly past: FoldedPast
}

/** Of an id such as `run1/assistant:7` the number, where the last such id before it began as this one does. */
export type ShortId = string | number

/** Makes ids of entries shorter, or long again, one after the other. */
export class ShortIds {
  /** How the last id began. */
  #start = ''

  short(name: 'assistant' | 'tool_results', id: string): ShortId {
    const begin = `${this.#start}${name}:`
    if (this.#start !== '' && id.startsWith(begin)) {
      // Nearly all are of the run that the last one was of.
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

/** In their order: the entries of laps, and lines that are read as any other. */
export type FoldItem =
  /** A reply: the id of its entry, the number of its line, and where the JSON of the message stands. */
  | readonly ['A', ShortId, number, number, number]
  /** Results of tools: the id of their entry, and for each the number of its line and where the JSON of its message stands. */
  | readonly ['R', ShortId, ...number[]]
  /** The same of a file of the first format, without the numbers of lines. */
  | readonly ['a', string, number, number]
  | readonly ['r', string, ...number[]]
  /** Any other entry, as its lap has it. */
  | readonly ['e', unknown]
  /** A line, and its number where it is known by that. */
  | readonly ['l', number, number]
  | readonly ['l', number, number, number]

/** How such a line begins, after the end of the one before it. */
export const foldMark: string = '\n{"type":"halting","fold":{'

/** A line of this kind follows the first lap after so many bytes: who reads the rest as lines reads no more than that and a turn. */
export const foldedBytes: number = 128 * 1_024

/** Lines of more bytes have none: a reader holds them in memory together. */
export const mostFoldedBytes: number = 4 * 1_024 * 1_024

/** How the JSON of a reply begins in its line; what stands behind it is that of the message alone. */
export const replyStart: string = '{"type":"message",'

/** Where the JSON of a message stands in its line, in bytes. */
interface MessagePlace {
  readonly at: number
  readonly length: number
  readonly isReply: boolean
}

/** Where a line stands, and the JSON of its message in it, if that is there as it was said. */
interface Spot {
  readonly at: number
  readonly length: number
  readonly message: MessagePlace | undefined
}

/** The lines since the last fold: what the next one will say of them. */
export class OpenSegment {
  bytes = 0
  #crc = 0
  /** Written, and not yet in the checksum: a short run never needs it. */
  #pending: string[] = []
  #pendingLength = 0
  #items: FoldItem[] = []
  #ids: ShortIds = new ShortIds()
  readonly #spots = new Map<LineName, Spot>()

  /** Takes a line that is written, and its bytes. */
  wrote(line: string, length: number, uuid?: LineName, message?: MessagePlace): void {
    this.#note(length, uuid, message)
    if (this.bytes > mostFoldedBytes) return
    this.#pending.push(line)
    this.#pendingLength += length
    if (this.#pendingLength > foldedBytes / 2) this.#sum()
  }

  /** Takes a line that was read, with its end, and what it is known by where it has a message. */
  read(bytes: Buffer, line: { readonly [field: string]: unknown }, name: LineName | undefined): void {
    if (this.canFold) this.#crc = crc32Of(bytes, this.#crc)
    if (name === undefined || !this.canFold) this.#note(bytes.length)
    else this.#note(bytes.length, name, messageIn(bytes, line))
  }

  /** Otherwise these lines are too many to be held together. */
  get canFold(): boolean {
    return this.bytes <= mostFoldedBytes
  }

  #note(length: number, uuid?: LineName, message?: MessagePlace): void {
    const at = this.bytes
    this.bytes += length
    if (uuid === undefined || this.bytes > mostFoldedBytes) return
    this.#spots.set(uuid, { at, length: length - 1, message })
  }

  /** The entries of a lap of the main loop, as its line has them. */
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
      // Who reads it puts the messages into it.
      this.#items.push(['e', JSON.parse(JSON.stringify(ref))])
    }
  }

  /** The line of a start, an end or a going back, which was the last: it is read as it is, and so are those of the messages that it refers to. */
  record(refs: readonly unknown[], bytes: number): void {
    if (!this.canFold) return
    for (const ref of refs) this.#linesOf(ref)
    this.#items.push(['l', this.bytes - bytes, bytes - 1])
  }

  /** What a line says that follows now; from here on it is of the lines after that one. */
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

  /** Of a reply, or of the one result of a turn, that is no more than its line: nearly every entry is one. */
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
      // Once is enough.
      this.#spots.delete(uuid)
    }
  }
}

/** The lines that an entry refers to. */
function linesOfEntry(ref: unknown): readonly LineName[] {
  const { message, messages } = longEntry(ref) as { readonly message?: unknown; readonly messages?: readonly unknown[] }
  return Array.isArray(messages) && !isLineName(message) ? messages.flatMap(linesNamedBy) : linesNamedBy(message)
}

/** Where the message stands in a line that was read: where a writer puts it, or nowhere. */
function messageIn(bytes: Buffer, line: { readonly [field: string]: unknown }): MessagePlace | undefined {
  const { parentUuid, isSidechain, agentId, type, message, uuid, payloads } = line
  if (payloads !== undefined || typeof message !== 'object') return undefined
  const json = JSON.stringify(message)
  const place = messagePlace(startOf({ parentUuid, isSidechain, agentId, type }), json, type)
  const found = uuid === undefined ? `${json},"timestamp":` : `${json},"uuid":${JSON.stringify(uuid)},`
  const isThere = bytes.toString('utf8', place.at, place.at + Buffer.byteLength(found)) === found
  return isThere ? place : undefined
}

/** How a line begins that has a message, in front of that: with these fields. */
export function startOf(fields: { readonly [field: string]: unknown }): string {
  return `${JSON.stringify(fields).slice(0, -1)},"message":`
}

/** Where the JSON of a message stands in a line that begins so, in bytes from its beginning. */
export function messagePlace(start: string, json: string, type: unknown): MessagePlace {
  const isReply = type === 'assistant' && (json.startsWith(replyStart) || !json.startsWith('{"type":'))
  return { at: Buffer.byteLength(start), length: Buffer.byteLength(json), isReply }
}
