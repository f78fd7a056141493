// A line that sums up the lines before it, so that who goes on with a session reads the messages of these and not their steps (spec R-JOUR-12). Who wants all
// records passes it over.
import type { FoldedPast, Iteration } from '@halting/core/steps'
import { crc32OfMuch } from '../files/crc32.ts'

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
  readonly newest: string | null
  readonly past: FoldedPast
}

/** In their order: the entries of laps, and lines that are read as any other. */
export type FoldItem =
  /** A reply: the id of its entry, and where the JSON of the message stands. */
  | readonly ['a', string, number, number]
  /** Results of tools: the id of their entry, and for each where the JSON of its message stands. */
  | readonly ['r', string, ...number[]]
  /** Any other entry, as its lap has it. */
  | readonly ['e', unknown]
  /** A line. */
  | readonly ['l', number, number]

/** How such a line begins, after the end of the one before it. */
export const foldMark: string = '\n{"type":"halting","fold":{'

/** A line of this kind follows the first lap after so many bytes: who reads the rest as lines reads no more than that and a turn. */
export const foldedBytes: number = 128 * 1_024

/** Lines of more bytes have none: a reader holds them in memory together. */
export const mostFoldedBytes: number = 4 * 1_024 * 1_024

/** How the JSON of a reply begins in its line; what stands behind it is that of the message alone. */
export const replyStart: string = '{"type":"message",'

/** Where a line stands, and the JSON of its message in it, if that is there as it was said. */
interface Spot {
  readonly at: number
  readonly length: number
  readonly message?: { readonly at: number; readonly length: number; readonly isReply: boolean }
}

/** The lines since the last fold: what the next one will say of them. */
export class OpenSegment {
  bytes = 0
  #crc = 0
  /** Written, and not yet in the checksum: a short run never needs it. */
  #held: string[] = []
  #heldLength = 0
  #items: FoldItem[] = []
  readonly #spots = new Map<string, Spot>()

  /** Takes a line that is written. */
  wrote(line: string, uuid?: string, message?: Spot['message']): void {
    const length = Buffer.byteLength(line)
    this.#note(length, uuid, message)
    if (!this.canFold) return
    this.#held.push(line)
    this.#heldLength += length
    if (this.#heldLength > foldedBytes / 2) this.#sum()
  }

  /** Takes a line that was read, with its end. */
  read(bytes: Buffer, line: { readonly [field: string]: unknown }): void {
    if (this.canFold) this.#crc = crc32OfMuch(bytes, this.#crc)
    const { uuid } = line
    if (typeof uuid !== 'string' || !this.canFold) this.#note(bytes.length)
    else this.#note(bytes.length, uuid, messageIn(bytes, line))
  }

  /** Otherwise these lines are too many to be held together. */
  get canFold(): boolean {
    return this.bytes <= mostFoldedBytes
  }

  #note(length: number, uuid?: string, message?: Spot['message']): void {
    const at = this.bytes
    this.bytes += length
    if (uuid === undefined || !this.canFold) return
    const place = message === undefined ? {} : { message: { ...message, at: at + message.at } }
    this.#spots.set(uuid, { at, length: length - 1, ...place })
  }

  /** The entries of a lap of the main loop, as its line has them. */
  lap(refs: readonly unknown[]): void {
    if (!this.canFold) return
    for (const ref of refs) {
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
    this.#held = []
    this.#heldLength = 0
    this.#items = []
    this.#spots.clear()
  }

  #sum(): void {
    if (this.#heldLength > 0) this.#crc = crc32OfMuch(Buffer.from(this.#held.join('')), this.#crc)
    this.#held = []
    this.#heldLength = 0
  }

  #replyOf(ref: unknown): FoldItem | undefined {
    const { kind, id, message, ...more } = ref as { readonly [field: string]: unknown }
    if (kind !== 'assistant' || typeof message !== 'string' || Object.keys(more).length > 0) return undefined
    const place = this.#spots.get(message)?.message
    return place?.isReply === true ? ['a', String(id), place.at, place.length] : undefined
  }

  #resultsOf(ref: unknown): FoldItem | undefined {
    const { kind, id, message, origin, ...more } = ref as { readonly [field: string]: unknown }
    if (kind !== 'user' || origin !== 'tool_results' || Object.keys(more).length > 0) return undefined
    const places: number[] = []
    for (const uuid of uuidsOf({ message })) {
      const place = this.#spots.get(uuid)?.message
      if (place === undefined || place.isReply) return undefined
      places.push(place.at, place.length)
    }
    return places.length === 0 ? undefined : ['r', String(id), ...places]
  }

  #linesOf(ref: unknown): void {
    for (const uuid of uuidsOf(ref)) {
      const spot = this.#spots.get(uuid)
      if (spot === undefined) continue
      this.#items.push(['l', spot.at, spot.length])
      // Once is enough.
      this.#spots.delete(uuid)
    }
  }
}

/** The lines that an entry refers to. */
function uuidsOf(ref: unknown): readonly string[] {
  const { message, messages } = ref as { readonly message?: unknown; readonly messages?: readonly unknown[] }
  if (typeof message === 'string') return [message]
  if (Array.isArray(messages)) return messages.flatMap((each) => uuidsOf({ message: each }))
  const { content } = (message ?? {}) as { readonly content?: unknown }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return []
  const { ref: own, blocks } = content as {
    readonly ref?: string
    readonly blocks?: readonly { readonly ref: string }[]
  }
  if (own !== undefined) return [own]
  return blocks?.map((block) => block.ref) ?? []
}

/** Where the message stands in a line that was read: where a writer puts it, or nowhere. */
function messageIn(bytes: Buffer, line: { readonly [field: string]: unknown }): Spot['message'] {
  const { parentUuid, isSidechain, agentId, type, message, uuid, payloads } = line
  if (payloads !== undefined || typeof message !== 'object') return undefined
  const json = JSON.stringify(message)
  const place = messagePlace({ parentUuid, isSidechain, agentId, type }, json)
  const found = `${json},"uuid":${JSON.stringify(uuid)},`
  const isThere = bytes.toString('utf8', place.at, place.at + Buffer.byteLength(found)) === found
  return isThere ? place : undefined
}

/** Where the JSON of a message stands in a line that begins with these fields, in bytes from its beginning. */
export function messagePlace(first: { readonly [field: string]: unknown }, json: string): NonNullable<Spot['message']> {
  const at = Buffer.byteLength(JSON.stringify(first)) - 1 + ',"message":'.length
  return { at, length: Buffer.byteLength(json), isReply: json.startsWith(replyStart) }
}
