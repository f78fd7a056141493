import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
// The official definitions of OTLP, compiled by protobuf.js. Later releases of this package write the format by hand and have none.
import definitions from 'otlp-definitions/build/src/generated/root.js'
import { afterAll, beforeAll, beforeEach } from 'vitest'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The body of the request, uncompressed. */
  readonly body: Buffer
}

export interface TestCollector {
  /** The address of the collector. */
  readonly url: string
  readonly received: readonly Received[]
  forget(): void
  /** Its response status; 200 unless set. */
  answer: (response: ServerResponse, received: Received) => void
}

const isFine = (response: ServerResponse): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{}')

/** A collector for the tests of this file, on a local port. It is reset before each test. */
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
    // True: it listens on a port, so its address has one.
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

/** How protobuf.js represents one message. */
interface MessageType {
  decode(bytes: Uint8Array): object
  encode(message: object): { finish(): Uint8Array }
  fromObject(given: object): object
  verify(message: object): string | null
  toObject(message: object, options: object): JsonObject
}

// Its own types only say that it is a root.
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

/** One form for both encodings: 64-bit numbers and bytes as texts, and missing fields as their defaults. */
const oneForm = { longs: String, bytes: String, defaults: true } as const

/** Spans have their own path. */
export const isOfSpans = ({ path }: Pick<Received, 'path'>): boolean => /traces|spans/.test(path)

/** Decodes a request with the definitions. @throws if it is invalid, or contains unknown fields */
export function decoded({ path, headers, body }: Received): JsonObject {
  const type = isOfSpans({ path }) ? trace.v1.ExportTraceServiceRequest : metrics.v1.ExportMetricsServiceRequest
  if (headers['content-type'] === 'application/x-protobuf') {
    const message = type.decode(body)
    // Decoding drops unknown fields.
    const known = type.encode(message).finish()
    if (!Buffer.from(known).equals(body)) throw new Error(`${path}: ${body.length - known.length} bytes are unknown`)
    return idsAs(hexOf, type.toObject(message, oneForm))
  }
  if (headers['content-type'] !== 'application/json') throw new Error(`${path}: ${headers['content-type']}`)
  // True: an object, or nothing of it is known.
  const sent = JSON.parse(body.toString('utf8')) as JsonObject
  const message = type.fromObject(idsAs(base64Of, sent))
  const wrong = type.verify(message)
  if (wrong !== null) throw new Error(`${path}: ${wrong}`)
  const fields = idsAs(hexOf, type.toObject(message, oneForm))
  const known = new Set(namesIn(fields))
  const unknown = namesIn(sent).filter((name) => !known.has(name))
  if (unknown.length > 0) throw new Error(`${path}: the definitions have no ${unknown.join(', ')}`)
  return fields
}

const hexOf = (base64: string): string => Buffer.from(base64, 'base64').toString('hex')
/** JSON has IDs as hexadecimal digits; protobuf.js expects bytes as Base64. */
const base64Of = (hex: string): string => Buffer.from(hex, 'hex').toString('base64')

const ids: ReadonlySet<string> = new Set(['traceId', 'spanId', 'parentSpanId'])

function idsAs(form: (id: string) => string, value: JsonObject): JsonObject {
  const inside = (name: string, each: Json): Json => {
    if (typeof each === 'string') return ids.has(name) ? form(each) : each
    if (Array.isArray(each)) return each.map((member) => inside('', member))
    // True: anything else is an object.
    return typeof each === 'object' && each !== null ? idsAs(form, each as JsonObject) : each
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inside(name, each)]))
}

/** Names of all fields, each after those that contain it. */
function namesIn(value: Json, around = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((each) => namesIn(each, around))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => [`${around}.${name}`, ...namesIn(each, `${around}.${name}`)])
}
