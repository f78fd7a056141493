import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
// The official definitions of OTLP, as protobuf.js has made code of them. Later releases of this package write the format by hand and have none.
import definitions from 'otlp-definitions/build/src/generated/root.js'
import { afterAll, beforeAll, beforeEach } from 'vitest'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** As it came, uncompressed. */
  readonly body: Buffer
}

export interface TestCollector {
  /** Where it listens. */
  readonly url: string
  readonly received: readonly Received[]
  forget(): void
  /** How it answers; 200 unless set. */
  answer: (response: ServerResponse, received: Received) => void
}

const isFine = (response: ServerResponse): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{}')

/** A collector for the tests of this file, on a port of this machine. What it was sent is forgotten before each test. */
export function installCollector(): TestCollector {
  const received: Received[] = []
  const collector = {
    url: '',
    received,
    answer: isFine as TestCollector['answer'],
    forget: () => void received.splice(0),
  }
  let server: Server | undefined
  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => void chunks.push(chunk))
      request.on('end', () => {
        const sent = Buffer.concat(chunks)
        const { url: path = '', headers } = request
        const each = { path, headers, body: headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent }
        received.push(each)
        collector.answer(response, each)
      })
    })
    await new Promise<void>((listens) => server?.listen(0, '127.0.0.1', listens))
    // It listens at a port, so its address has one.
    collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  beforeEach(() => {
    collector.forget()
    collector.answer = isFine
  })
  afterAll(() => {
    server?.closeAllConnections()
    server?.close()
  })
  return collector
}

/** What protobuf.js makes of one message. */
interface MessageType {
  decode(bytes: Uint8Array): object
  encode(message: object): { finish(): Uint8Array }
  fromObject(given: object): object
  verify(message: object): string | null
  toObject(message: object, options: object): JsonObject
}

// Its own types say no more of it than that it is a root.
const { trace, metrics } = (
  definitions as unknown as {
    readonly opentelemetry: {
      readonly proto: {
        readonly collector: {
          readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: MessageType } }
          readonly metrics: { readonly v1: { readonly ExportMetricsServiceRequest: MessageType } }
        }
      }
    }
  }
).opentelemetry.proto.collector

type Json = null | boolean | number | string | readonly Json[] | JsonObject
interface JsonObject {
  readonly [name: string]: Json
}

/** One form for both encodings: 64-bit numbers and bytes as texts, and what was left out as what it means then. */
const oneForm = { longs: String, bytes: String, defaults: true } as const

/** Spans go to a path of theirs. */
export const isOfSpans = ({ path }: Pick<Received, 'path'>): boolean => /traces|spans/.test(path)

/** What the definitions make of a request. @throws where it is none, or has what they do not know. */
export function decoded({ path, headers, body }: Received): JsonObject {
  const type = isOfSpans({ path }) ? trace.v1.ExportTraceServiceRequest : metrics.v1.ExportMetricsServiceRequest
  if (headers['content-type'] === 'application/x-protobuf') {
    const message = type.decode(body)
    // Fields that the definitions do not know are left out of it.
    const known = type.encode(message).finish()
    if (!Buffer.from(known).equals(body)) throw new Error(`${path}: ${body.length - known.length} bytes are unknown`)
    return idsAs(hexOf, type.toObject(message, oneForm))
  }
  if (headers['content-type'] !== 'application/json') throw new Error(`${path}: ${headers['content-type']}`)
  // An object, or nothing of it is known.
  const sent = JSON.parse(body.toString('utf8')) as JsonObject
  const message = type.fromObject(idsAs(base64Of, sent))
  const wrong = type.verify(message)
  if (wrong !== null) throw new Error(`${path}: ${wrong}`)
  const told = idsAs(hexOf, type.toObject(message, oneForm))
  const known = new Set(namesIn(told))
  const unknown = namesIn(sent).filter((name) => !known.has(name))
  if (unknown.length > 0) throw new Error(`${path}: the definitions have no ${unknown.join(', ')}`)
  return told
}

const hexOf = (base64: string): string => Buffer.from(base64, 'base64').toString('hex')
/** JSON has ids in hexadecimal digits; protobuf.js takes bytes as Base64. */
const base64Of = (hex: string): string => Buffer.from(hex, 'hex').toString('base64')

const ids: ReadonlySet<string> = new Set(['traceId', 'spanId', 'parentSpanId'])

function idsAs(form: (id: string) => string, value: JsonObject): JsonObject {
  const inside = (name: string, each: Json): Json => {
    if (typeof each === 'string') return ids.has(name) ? form(each) : each
    if (Array.isArray(each)) return each.map((member) => inside('', member))
    // What is neither is an object.
    return typeof each === 'object' && each !== null ? idsAs(form, each as JsonObject) : each
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inside(name, each)]))
}

/** Names of all fields, each behind those that it lies in. */
function namesIn(value: Json, around = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((each) => namesIn(each, around))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => [`${around}.${name}`, ...namesIn(each, `${around}.${name}`)])
}
