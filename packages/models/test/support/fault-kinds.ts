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

/** Faults between the start of a connection and the end of a response. */
export type StreamFault =
  /** Nothing listens. */
  | 'refused'
  /** The connection is cut with RST. */
  | 'reset'
  /** The connection is closed with FIN in the middle of the HTTP response. */
  | 'closed'
  /** The HTTP response ends properly, but too early. */
  | 'ended'
  /** The HTTP response ends properly, but inside a character. */
  | 'cut character'
  /** Nothing more arrives, and the connection stays open. */
  | 'silent'
  /** Only keep-alive events of the service. */
  | 'pings'
  /** Only comments of the event stream. */
  | 'comments'
  /** Bytes that are not HTTP. */
  | 'no HTTP'
  /** Lines that are not part of an event stream. */
  | 'garbage'
  /** An event whose data is not JSON. */
  | 'no JSON'
  /** An event of an unknown type. */
  | 'unknown event'
  /** An event that never ends. */
  | 'endless event'
  /** The last event, repeated. */
  | 'repeated event'
  /** Another message starts. */
  | 'second message'
  /** The service reports that it is overloaded, and ends. */
  | 'overloaded'
  | 'server error'
  | 'rate limit'
  /** The service reports late that the request was invalid, and ends. */
  | 'invalid request'

/** The state of the exchange at a fault. */
export interface FaultScene {
  readonly protocol: FaultProtocol
  readonly socket: Socket
  /** Absent before the start of a response. */
  readonly response: ServerResponse | undefined
  /** The last event that was sent; absent before the first. */
  readonly last: Frame | undefined
  /** The next event; absent after the last. */
  readonly next: Frame | undefined
  /** Resolves when the client has read what was sent. A reset would discard unread data. */
  readonly taken: () => Promise<void>
}

export interface FaultKind {
  readonly points: readonly FaultPoint[]
  /** Executes the fault. `goes on`: the rest of the response follows. */
  happen(scene: FaultScene): Promise<'goes on' | 'over'>
}

const inAnswer = faultPoints.slice(faultPoints.indexOf('headers'))
const inMessage = faultPoints.slice(faultPoints.indexOf('begun'))

export const faultKinds: Readonly<Record<StreamFault, FaultKind>> = {
  // The server does not listen, so nothing can happen on a connection.
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

/** A fault after which nothing more arrives. */
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

/** A fault that inserts something. Then the response continues. */
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

/** An error in the stream, in the format of each service. */
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
    // The client sets the pace, so nothing accumulates here.
    response.write(piece, () => setImmediate(more))
  }
  response?.write('data: "')
  more()
}

/** A place inside the first multi-byte character. */
function insideCharacter(text: string): number {
  const bytes = Buffer.from(text)
  const start = bytes.findIndex((byte) => byte >= 0x80)
  if (start < 0) throw new Error('There is no character to cut in what comes next.')
  return start + 1
}
