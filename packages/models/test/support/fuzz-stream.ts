import { readdirSync, readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import type { FaultProtocol } from './fault-reply.ts'
import { responsesRecordings } from './responses-recordings.ts'

/** A recorded stream as frames, as a server sends them. */
export interface RecordedStream {
  readonly name: string
  readonly frames: readonly string[]
}

const folder = new URL('../fixtures/', import.meta.url)

/** Every recorded stream of this protocol, one message each. */
export function recordedStreams(protocol: FaultProtocol): readonly RecordedStream[] {
  if (protocol === 'responses') return recordedResponses()
  const files = readdirSync(folder).filter((file) => file.endsWith('.chunks.txt'))
  return files
    .filter((file) => file.startsWith('anthropic-') === (protocol === 'messages'))
    .flatMap((file) => {
      const lines = readFileSync(new URL(file, folder), 'utf8')
        .split('\n')
        .filter((line) => line.trim() !== '')
      if (protocol === 'chat') return [{ name: file, frames: shortened([...lines, '[DONE]'].map((line) => `data: ${line}\n\n`)) }] // prettier-ignore
      return messagesIn(lines).map((frames, index) => ({ name: `${file} #${index + 1}`, frames: shortened(frames) }))
    })
}

function recordedResponses(): readonly RecordedStream[] {
  // One of them failed, so it has no reply.
  const replies = responsesRecordings.filter(({ events }) => events.at(-1)?.type === 'response.completed')
  return replies.map(({ name, events }) => {
    const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
    return { name, frames: shortened(lines) }
  })
}

function messagesIn(lines: readonly string[]): readonly (readonly string[])[] {
  const messages: string[][] = []
  for (const line of lines) {
    const { type } = JSON.parse(line) as { readonly type: string }
    if (type === 'message_start') messages.push([])
    messages.at(-1)?.push(`event: ${type}\ndata: ${line}\n\n`)
  }
  return messages
}

/** Shortens long streams. Only their ends differ. */
function shortened(frames: readonly string[]): readonly string[] {
  if (frames.length <= 80 || frames[0]?.startsWith('event:')) return frames
  return [...frames.slice(0, 40), ...frames.slice(-40)]
}

/** Mutations of a stream. Places are shares of its length, so that they fit any stream. */
export type Mutation =
  | { readonly kind: 'repeat' | 'drop' | 'truncate' | 'cut frame'; readonly at: number }
  | { readonly kind: 'swap'; readonly at: number; readonly with: number }
  | { readonly kind: 'insert frame'; readonly at: number; readonly text: string }
  | { readonly kind: 'overwrite' | 'insert bytes'; readonly at: number; readonly bytes: Uint8Array }

const place: fc.Arbitrary<number> = fc.nat(9_999).map((part) => part / 10_000)

export const truncation: fc.Arbitrary<Mutation> = fc.record({ kind: fc.constant('truncate' as const), at: place })

/** Complete frames are repeated, dropped or moved. */
export const frameMutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({ kind: fc.constantFrom('repeat' as const, 'drop' as const), at: place }),
  fc.record({ kind: fc.constant('swap' as const), at: place, with: place }),
)

const strangeFrame = fc.oneof(
  fc.string(),
  fc.json().map((json) => `data: ${json}\n\n`),
  fc.json().map((json) => `event: error\ndata: ${json}\n\n`),
  fc.constantFrom(
    ': comment\n\n',
    'data:\n\n',
    'retry: 10\n\n',
    '\n\n\n',
    'data: [DONE]\n\n',
    'data: {"error":{}}\n\n',
  ),
)
const fewBytes = fc.uint8Array({ minLength: 1, maxLength: 12 })

export const garbage: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({ kind: fc.constant('insert frame' as const), at: place, text: strangeFrame }),
  fc.record({ kind: fc.constant('cut frame' as const), at: place }),
  fc.record({ kind: fc.constantFrom('overwrite' as const, 'insert bytes' as const), at: place, bytes: fewBytes }),
)

/** The bytes of a stream after all mutations, in order. */
export function mutatedBytes(frames: readonly string[], mutations: readonly Mutation[]): Buffer {
  let list = [...frames]
  for (const mutation of mutations) list = mutateFrames(list, mutation)
  let bytes = Buffer.from(list.join(''))
  for (const mutation of mutations) bytes = mutateBytes(bytes, mutation)
  return bytes
}

function mutateFrames(frames: string[], mutation: Mutation): string[] {
  const at = Math.floor(mutation.at * frames.length)
  const frame = frames[at]
  if (frame === undefined) return frames
  switch (mutation.kind) {
    case 'repeat':
      return frames.toSpliced(at, 0, frame)
    case 'drop':
      return frames.toSpliced(at, 1)
    case 'swap': {
      const other = Math.floor(mutation.with * frames.length)
      return frames.with(at, frames[other] ?? frame).with(other, frame)
    }
    case 'insert frame':
      return frames.toSpliced(at, 0, mutation.text)
    case 'cut frame':
      return frames.with(at, frame.slice(0, Math.floor(frame.length / 2)))
    default:
      return frames
  }
}

function mutateBytes(bytes: Buffer<ArrayBuffer>, mutation: Mutation): Buffer<ArrayBuffer> {
  const at = Math.floor(mutation.at * (bytes.length + 1))
  switch (mutation.kind) {
    case 'truncate':
      return bytes.subarray(0, at)
    case 'overwrite':
      return Buffer.concat([bytes.subarray(0, at), mutation.bytes, bytes.subarray(at + mutation.bytes.length)])
    case 'insert bytes':
      return Buffer.concat([bytes.subarray(0, at), mutation.bytes, bytes.subarray(at)])
    default:
      return bytes
  }
}

/** The places at which the network cuts a stream, as shares of its length. */
export const cuts: fc.Arbitrary<readonly number[]> = fc.array(place, { maxLength: 6 })

export function piecesOf(bytes: Buffer, cutsAt: readonly number[]): readonly Buffer[] {
  const places = cutsAt.map((at) => Math.floor(at * bytes.length)).toSorted((a, b) => a - b)
  return [0, ...places]
    .map((start, index) => bytes.subarray(start, places[index] ?? bytes.length))
    .filter((piece) => piece.length > 0)
}
