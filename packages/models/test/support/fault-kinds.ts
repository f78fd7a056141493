import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { JsonObject } from '@halting/core'
import {
  chatChunk,
  chatEvent,
  faultPoints,
  messagesEvent,
  messageStart,
  responseCreated,
  responsesEvent,
} from './fault-reply.ts'
import type { FaultPoint, FaultProtocol, Frame } from './fault-reply.ts'

/** What can go wrong between the beginning of a connection and the end of an answer. */
export type StreamFault =
  /** Nothing listens. */
  | 'refused'
  /** The connection is cut with RST. */
  | 'reset'
  /** The connection is closed with FIN, in the middle of the HTTP answer. */
  | 'closed'
  /** The HTTP answer ends as it should, too early. */
  | 'ended'
  /** The HTTP answer ends as it should, inside a character. */
  | 'cut character'
  /** Nothing more comes, and the connection stays open. */
  | 'silent'
  /** Only what the service sends when it has nothing to say. */
  | 'pings'
  /** Only comments of the event stream. */
  | 'comments'
  /** Bytes that are no HTTP. */
  | 'no HTTP'
  /** Lines that are none of an event stream. */
  | 'garbage'
  /** An event whose data is no JSON. */
  | 'no JSON'
  /** An event of a type that nobody knows. */
  | 'unknown event'
  /** An event that never ends. */
  | 'endless event'
  /** The last event, once more. */
  | 'repeated event'
  /** Another message begins. */
  | 'second message'
  /** The service says that it is overloaded, and ends. */
  | 'overloaded'
  | 'server error'
  | 'rate limit'
  /** The service says that the request was wrong after all, and ends. */
  | 'invalid request'

/** Where a fault happens. */
export interface FaultScene {
  readonly protocol: FaultProtocol
  readonly socket: Socket
  /** Absent while no answer has begun. */
  readonly response: ServerResponse | undefined
  /** The last event that went out; absent before the first. */
  readonly last: Frame | undefined
  /** The next event; absent after the last. */
  readonly next: Frame | undefined
  /** Resolves when the other side has taken what was sent: a reset would take it away from it. */
  readonly taken: () => Promise<void>
}

export interface FaultKind {
  readonly points: readonly FaultPoint[]
  /** Does it. `goes on`: the rest of the answer follows. */
  happen(scene: FaultScene): Promise<'goes on' | 'over'>
}

const inAnswer = faultPoints.slice(faultPoints.indexOf('headers'))
const inMessage = faultPoints.slice(faultPoints.indexOf('begun'))

export const faultKinds: Readonly<Record<StreamFault, FaultKind>> = {
  // The server does not listen: nothing can happen on a connection.
  refused: { points: ['accept'], happen: async () => 'over' },
  reset: breaking(faultPoints, ({ socket }) => socket.resetAndDestroy()),
  closed: breaking(faultPoints, ({ socket }) => socket.end()),
  ended: breaking(inAnswer, ({ response }) => response?.end()),
  'cut character': breaking(['in text', 'in call'], ({ response, next }) => {
    response?.end(Buffer.from(next?.bytes ?? '').subarray(0, insideCharacter(next?.bytes ?? '')))
  }),
  silent: breaking(faultPoints, () => {}),
  pings: breaking(inAnswer, (scene) => repeat(scene, pingOf(scene.protocol))),
  comments: breaking(inAnswer, (scene) => repeat(scene, ': still at work\n\n')),
  'no HTTP': breaking(faultPoints, ({ socket }) => socket.end('\u{fe}\u{ff}\0 no HTTP at all \r\n\r\n', 'latin1')),
  garbage: inserting(inAnswer, () => Buffer.from('\u{fe}\u{ff}\0 garbage \r\n{"}\n\n', 'latin1')),
  'no JSON': inserting(inAnswer, () => 'data: {"type": "content_bl\n\n'),
  'unknown event': inserting(inAnswer, unknownEvent),
  'endless event': breaking(inAnswer, writeForEver),
  'repeated event': inserting(inMessage, ({ last }) => last?.bytes ?? ''),
  'second message': inserting(inMessage, ({ protocol }) => secondMessage[protocol]),
  overloaded: saying('Overloaded', { type: 'overloaded_error' }, { code: 529 }),
  'server error': saying('Internal server error', { type: 'api_error' }, { type: 'server_error', code: null }),
  'rate limit': saying(
    'Too many tokens a minute',
    { type: 'rate_limit_error' },
    { type: 'tokens', code: 'rate_limit_exceeded' },
  ),
  'invalid request': saying(
    'messages: something is wrong with them',
    { type: 'invalid_request_error' },
    { type: 'invalid_request_error', param: 'messages', code: null },
  ),
}

/** The sort of fault after which nothing more comes. */
function breaking(points: readonly FaultPoint[], act: (scene: FaultScene) => unknown): FaultKind {
  return {
    points,
    async happen(scene) {
      await scene.taken()
      act(scene)
      return 'over'
    },
  }
}

/** Something comes in between, and the answer goes on. */
function inserting(points: readonly FaultPoint[], bytesOf: (scene: FaultScene) => string | Uint8Array): FaultKind {
  return {
    points,
    async happen(scene) {
      scene.response?.write(bytesOf(scene))
      return 'goes on'
    },
  }
}

const secondMessage: Readonly<Record<FaultProtocol, string>> = {
  messages: messageStart('msg_2'),
  chat: chatChunk('msg_2', { role: 'assistant', content: 'Again.' }),
  responses: responsesEvent(responseCreated('msg_2')),
}

/** An error in the stream, as each kind of service writes it. */
function saying(message: string, inMessages: JsonObject, inChat: JsonObject): FaultKind {
  const said: Readonly<Record<FaultProtocol, string>> = {
    messages: messagesEvent({ type: 'error', error: { ...inMessages, message } }),
    chat: chatEvent({ error: { ...inChat, message } }),
    responses: responsesEvent({ type: 'error', code: inChat.code ?? inChat.type ?? null, message, param: null }),
  }
  return breaking(inAnswer, ({ protocol, response }) => response?.end(said[protocol]))
}

const pingTypes = { messages: 'ping', responses: 'response.in_progress' } as const

function pingOf(protocol: FaultProtocol): string {
  return protocol === 'chat' ? chatChunk('msg_1', {}) : messagesEvent({ type: pingTypes[protocol] })
}

function unknownEvent({ protocol }: FaultScene): string {
  const known = { type: 'brand_new', index: 0, text: 'something that nobody heard of' }
  return protocol === 'chat' ? chatEvent({ ...known, object: 'chat.brand_new' }) : messagesEvent(known)
}

const repeatMs = 5

function repeat({ response }: FaultScene, bytes: string): void {
  const timer = setInterval(() => response?.write(bytes), repeatMs)
  response?.once('close', () => clearInterval(timer))
}

function writeForEver({ response }: FaultScene): void {
  const piece = 'x'.repeat(16_384)
  const more = (): void => {
    if (response === undefined || response.destroyed) return
    // The other side decides how fast it goes: nothing heaps up here.
    response.write(piece, () => setImmediate(more))
  }
  response?.write('data: "')
  more()
}

/** A place inside the first character that has several bytes. */
function insideCharacter(text: string): number {
  const bytes = Buffer.from(text)
  const start = bytes.findIndex((byte) => byte >= 0x80)
  if (start < 0) throw new Error('There is no character to cut in what comes next.')
  return start + 1
}
