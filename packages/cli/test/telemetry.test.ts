// What the program sends to a collector: configured by variables alone, in OTLP, and without affecting the run.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { telemetrySettings } from '../src/telemetry/telemetry-settings.ts'
import { wantsTelemetry } from '../src/flags/open-session.ts'
import { here, installProgram, run } from './support/program.ts'

installProgram()

interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
}

let received: Received[] = []
let collector: Server | undefined
let url = ''

beforeAll(async () => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request
      .on('data', (chunk: Buffer) => void chunks.push(chunk))
      .on('end', () => {
        received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) })
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      })
  })
  await new Promise<void>((listens) => void server.listen(0, '127.0.0.1', listens))
  // True: it listens on a port, so its address has one.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  collector = server
  const command = 'echo "parent is $TRACEPARENT, headers are [$OTEL_EXPORTER_OTLP_HEADERS]"'
  const replies = [
    { content: ['Look.', { type: 'tool_use', name: 'Bash', input: { command } }] },
    { expect: 'parent is', content: ['It is done.'] },
  ]
  writeFileSync(join(here(), 'script.json'), JSON.stringify({ model: 'claude-sonnet-4-5', replies }))
})
afterAll(() => void collector?.close())
beforeEach(() => {
  received = []
})

const prompt = [
  '-p',
  'my own words',
  '--script',
  'script.json',
  '--allowedTools',
  'Bash',
  '--output-format',
  'stream-json',
  '--verbose',
]

const at = (path: string): readonly Received[] => received.filter((each) => each.path === path)

function sentSpans(): readonly SentSpan[] {
  return at('/v1/traces').flatMap(({ body }) => {
    // True: the shape of an ExportTraceServiceRequest; anything else fails below.
    const { resourceSpans } = JSON.parse(body.toString('utf8')) as {
      readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[] }[]
    }
    return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  })
}

test('sends spans and metrics of a run to the configured collector, and gives a command the span of its call', async () => {
  const { stdout, stderr, status } = await run(prompt, {
    env: {
      CLAUDE_CODE_ENABLE_TELEMETRY: '1',
      OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20key-of-mine',
      OTEL_RESOURCE_ATTRIBUTES: 'team=payments',
      TRACEPARENT: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
  })
  expect([status, stderr]).toEqual([0, ''])
  const spans = sentSpans()
  expect(spans.map(({ name }) => name).toSorted()).toEqual([
    'chat claude-sonnet-4-5',
    'chat claude-sonnet-4-5',
    'execute_tool Bash',
    'halting.turn',
    'halting.turn',
    'invoke_agent halting',
  ])
  for (const span of spans) {
    expect(span.traceId).toBe('0af7651916cd43dd8448eb211c80319c')
    expect(span.spanId).toMatch(/^[\da-f]{16}$/)
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
    expect(span.kind).toBe(span.name.startsWith('chat') ? 3 : 1)
  }
  const ids = new Set(['b7ad6b7169203331', ...spans.map(({ spanId }) => spanId)])
  expect(spans.filter(({ parentSpanId }) => !ids.has(parentSpanId ?? ''))).toEqual([])
  const call = spans.find(({ name }) => name === 'execute_tool Bash')
  expect(stdout).toContain(`parent is 00-${call?.traceId}-${call?.spanId}-01, headers are []`)
  const sent = received.map(({ body }) => body.toString('utf8')).join('\n')
  expect(sent).not.toMatch(/my own words|It is done|echo|key-of-mine/)
  expect(sent).toContain('"team"')
  expect(received.map(({ headers }) => headers.authorization)).toEqual(received.map(() => 'Bearer key-of-mine'))
  const metrics = at('/v1/metrics').map(({ body }) => body.toString('utf8'))
  for (const name of ['gen_ai.client.token.usage', 'halting.cost', 'halting.endings', 'halting.laps'])
    expect(metrics.at(-1)).toContain(`"name":"${name}"`)
})

test('sends protobuf silently, and message content if requested', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_LOG_USER_PROMPTS: '1' }
  const { status, stderr } = await run(prompt, { env })
  expect([status, stderr]).toEqual([0, ''])
  expect(received.map(({ headers }) => headers['content-type'])).toEqual(received.map(() => 'application/x-protobuf'))
  const sent = Buffer.concat(received.map(({ body }) => body)).toString('latin1')
  expect(sent).toContain('my own words')
  expect(sent).not.toMatch(/It is done|echo/)
})

test('prints a message for a dead collector and invalid values, and stops no run', async () => {
  const dead = await run(prompt, {
    env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://u:secret@127.0.0.1:9/v1/traces?key=k' },
  })
  expect(dead.status).toBe(0)
  expect(dead.stdout).toContain('It is done.')
  expect(dead.stderr).toMatch(/^halting: some telemetry was not sent.*127\.0\.0\.1:9\/v1\/traces.*\n$/)
  expect(dead.stderr).not.toMatch(/secret|key=k/)
  const wrong = await run(prompt, {
    env: { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_METRICS_EXPORTER: 'prometheus' },
  })
  expect([wrong.status, wrong.stderr.trimEnd().split('\n')]).toEqual([
    0,
    [
      'halting: OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json, not grpc, which halting does not support. Collectors usually accept both at port 4318. Spans are not sent.',
      'halting: OTEL_METRICS_EXPORTER must be otlp or none, not "prometheus". Metrics are not sent.',
    ],
  ])
})

test('is turned on by these variables', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }
  expect(
    [
      {},
      { CLAUDE_CODE_ENABLE_TELEMETRY: '1' },
      { OTEL_TRACES_EXPORTER: 'otlp' },
      { OTEL_METRICS_EXPORTER: 'none' },
      endpoint,
      { ...endpoint, OTEL_SDK_DISABLED: 'true' },
      { ...endpoint, CLAUDE_CODE_ENABLE_TELEMETRY: '0' },
      { ...endpoint, CLAUDE_CODE_ENABLE_TELEMETRY: '1', HALTING_TELEMETRY: '0' },
      { CLAUDE_CODE_ENABLE_TELEMETRY: ' Yes ' },
      { HALTING_TELEMETRY: 'on' },
      { ...endpoint, HALTING_TELEMETRY: 'maybe' },
      { OTEL_EXPORTER_OTLP_ENDPOINT: '  ', OTEL_TRACES_EXPORTER: '' },
    ].map(wantsTelemetry),
  ).toEqual([false, true, true, false, true, false, false, false, true, true, false, false])
})

test('prefers variables of one signal to those of both', () => {
  const { traces, metrics, problems } = telemetrySettings({
    OTEL_EXPORTER_OTLP_TIMEOUT: '5000',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '700',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: 'none',
    OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: ' ',
  })
  expect([traces, metrics]).toMatchObject([
    { timeoutMs: 700, isCompressed: true },
    { timeoutMs: 5_000, isCompressed: false },
  ])
  expect(problems).toEqual([])
  expect(telemetrySettings({ OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '-1' }).problems).toEqual([
    'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT must be a number of milliseconds, 1 or more. The default 10000 is used.',
  ])
})

test('parses the variables, and reports invalid ones', () => {
  const settings = telemetrySettings({
    OTEL_TRACES_EXPORTER: 'console,otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp/',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://metrics.example/in',
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1,nothing,b=x%20y,bad name=1',
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'a=2',
    OTEL_EXPORTER_OTLP_TIMEOUT: 'soon',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_SERVICE_NAME: 'agents',
    OTEL_RESOURCE_ATTRIBUTES: 'team=a%2Cb,service.name=other',
    OTEL_LOG_TOOL_DETAILS: '1',
  })
  expect(settings).toMatchObject({
    traces: {
      url: 'https://collector.example/otlp/v1/traces',
      protocol: 'http/protobuf',
      headers: { a: '1', b: 'x y' },
    },
    metrics: {
      url: 'https://metrics.example/in',
      protocol: 'http/json',
      headers: { a: '2', b: 'x y' },
      timeoutMs: 10_000,
    },
    sampler: { kind: 'traceidratio', isParentBased: true, ratio: 0.25 },
    resource: { 'service.name': 'agents', team: 'a,b' },
    content: { prompts: false, replies: false, toolInputs: true, toolResults: false },
  })
  expect(settings.problems).toEqual([
    'OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs, separated by commas. One invalid part is ignored.',
    'OTEL_EXPORTER_OTLP_HEADERS: "bad name" is not a valid header, and is ignored.',
    'OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds, 1 or more. The default 10000 is used.',
  ])
})
