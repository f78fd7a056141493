// The output is OTLP according to its official definitions, in each encoding, and matches the record of the run.
import { readJournal } from '@halting/journal'
import { metricNames, telemetry } from '@halting/telemetry'
import type { RunEvent } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { defaultResource } from '@opentelemetry/resources'
import { expect, test } from 'vitest'
import { openProviders } from '../src/telemetry/providers.ts'
import { telemetrySettings } from '../src/telemetry/telemetry-settings.ts'
import { sessionPath } from './support/store-session.ts'
import {
  metricsOf,
  outOfPlace,
  spansOf,
  treesOf,
  type Point,
  type SentMetric,
  type SentSpan,
  type Values,
} from './support/otlp-forms.ts'
import { asRecorded, treeOfRecord } from './support/otlp-of-record.ts'
import { decoded, installCollector, type Received } from './support/otlp.ts'
import { call, installProgram, linesOf, run, script } from './support/program.ts'

installProgram()
const collector = installCollector()

const forms = [
  {
    form: 'http/json',
    env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
    type: 'application/json',
    encoding: undefined,
  },
  { form: 'http/protobuf', env: {}, type: 'application/x-protobuf', encoding: undefined },
  {
    form: 'http/json with gzip',
    env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' },
    type: 'application/json',
    encoding: 'gzip',
  },
  {
    form: 'http/protobuf with gzip',
    env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf', OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' },
    type: 'application/x-protobuf',
    encoding: 'gzip',
  },
] as const

/** Runs the program with turns, parallel calls, one that fails, and a subagent, and reads its record. */
async function tracedRun(env: Readonly<Record<string, string>>): Promise<readonly StepRecord[]> {
  const replies = [
    { content: ['Look.', call('Bash', { command: 'echo hi' }), call('Read', { file_path: 'nothing.txt' })] },
    { content: [call('Agent', { description: 'finds out', prompt: 'sub', subagent_type: 'general-purpose' })] },
    { content: ['Nothing is there.'] },
    { content: ['It is done.'] },
  ]
  const name = script(replies, 'claude-sonnet-4-5')
  const flags = ['--allowedTools', 'Bash', '--output-format', 'stream-json', '--verbose', '--max-turns', '9']
  const { stdout, stderr, status } = await run(['-p', 'my own words', '--script', name, ...flags], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env },
  })
  expect([status, stderr]).toEqual([0, ''])
  const { runs } = await readJournal(sessionPath(String(linesOf(stdout)[0]?.['session_id'])))
  return runs[0] ?? []
}

const bounds = {
  tokens: [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864],
  seconds: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  long: [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400],
  parts: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1],
}

/** The histogram point of these values. A value at a bound belongs to the bucket below it. */
function pointOf(attributes: Values, values: readonly number[], limits: readonly number[]): Point {
  const buckets = Array.from({ length: limits.length + 1 }, () => 0n)
  for (const value of values) {
    const at = limits.findIndex((limit) => value <= limit)
    const place = at < 0 ? limits.length : at
    buckets[place] = (buckets[place] ?? 0n) + 1n
  }
  const sum = values.reduce((all, value) => all + value, 0)
  return { attributes, count: BigInt(values.length), sum: rounded(sum), buckets, bounds: limits }
}

/** Spans have nanoseconds, measurements fractions of milliseconds. */
const rounded = (value: number): number => Number(value.toFixed(5))

/** One point for each group of values with the same attributes, in the order in which they appear. */
function pointsOf(measured: readonly (readonly [Values, number])[], limits: readonly number[]): readonly Point[] {
  const groups = new Map<string, { readonly attributes: Values; readonly values: number[] }>()
  for (const [attributes, value] of measured) {
    const key = JSON.stringify(attributes)
    const group = groups.get(key) ?? { attributes, values: [] }
    groups.set(key, group)
    group.values.push(value)
  }
  return [...groups.values()].map(({ attributes, values }) => pointOf(attributes, values, limits))
}

function counted(attributes: readonly Values[]): readonly Point[] {
  return pointsOf(
    attributes.map((each) => [each, 1]),
    [],
  ).map(({ attributes: each, count = 0n }) => ({ attributes: each, value: count }))
}

const seconds = ({ start, end }: SentSpan): number => Number(end - start) / 1e9
const of = (spans: readonly SentSpan[], operation: string): readonly SentSpan[] =>
  spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === operation)
const picked = (values: Values, ...names: readonly string[]): Values =>
  Object.fromEntries(names.map((name) => [name, values[name] ?? '']))
const modelOf = (span: SentSpan): Values =>
  picked(span.attributes, 'gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model')

/** The metrics of these spans, which match those of the record. */
function metricsOfSpans(
  spans: readonly SentSpan[],
): Readonly<Partial<Record<keyof typeof metricNames, readonly Point[]>>> {
  const [chats, tools, runs] = [of(spans, 'chat'), of(spans, 'execute_tool'), of(spans, 'invoke_agent')]
  const turns = spans.filter(({ name }) => name === 'halting.turn')
  const agentOf = (span: SentSpan): Values => {
    const around = spans.find(({ spanId }) => spanId === span.parentSpanId)
    return picked(around?.attributes ?? {}, 'gen_ai.agent.name')
  }
  const tool = (span: SentSpan): number => Number(span.attributes['halting.duration_ms']) / 1000
  const ending = (span: SentSpan): Values =>
    picked(span.attributes, 'halting.terminal.reason', 'halting.stop.category', 'gen_ai.agent.name')
  const byEnd = runs.toSorted((a, b) => Number(a.end - b.end))
  return {
    tokenUsage: pointsOf(
      chats.flatMap((span) =>
        (['input', 'output'] as const).map((kind) => [
          { ...modelOf(span), 'gen_ai.token.type': kind },
          Number(span.attributes[`gen_ai.usage.${kind}_tokens`]),
        ]),
      ),
      bounds.tokens,
    ),
    operationDuration: pointsOf(
      [
        ...chats.map((span) => [modelOf(span), seconds(span)] as const),
        ...tools.map((span) => {
          const names = ['gen_ai.operation.name', 'gen_ai.tool.name', ...(span.status === 2 ? ['error.type'] : [])]
          const about: Values = { ...picked(span.attributes, ...names), 'gen_ai.provider.name': 'halting' }
          return [about, tool(span)] as const
        }),
        ...byEnd.map((span) => {
          const names = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.agent.name']
          return [picked(span.attributes, ...names), seconds(span)] as const
        }),
      ],
      bounds.seconds,
    ),
    cost: [
      {
        attributes: { ...(chats[0] && modelOf(chats[0])), 'halting.cost.kind': 'settled' },
        value: rounded(chats.reduce((all, span) => all + Number(span.attributes['halting.cost.usd']), 0)),
      },
    ],
    runDuration: pointsOf(
      byEnd.map((span) => [ending(span), seconds(span)]),
      bounds.long,
    ),
    turnDuration: pointsOf(
      turns.map((span) => [agentOf(span), seconds(span)]),
      bounds.long,
    ),
    toolDuration: pointsOf(
      tools.map((span) => [picked(span.attributes, 'gen_ai.tool.name', 'halting.tool.status'), tool(span)]),
      bounds.seconds,
    ),
    laps: counted(
      turns
        .filter(({ attributes }) => 'halting.transition' in attributes)
        .map((span) => ({ ...picked(span.attributes, 'halting.transition'), ...agentOf(span) })),
    ),
    endings: counted(byEnd.map(ending)),
    limitUsed: pointsOf(
      // The remaining turns are reported with an iteration.
      byEnd
        .filter(({ events }) => events.some(({ name }) => name === 'halting.lap'))
        .map((span) => [
          { 'halting.limit': 'maxTurns', ...picked(span.attributes, 'gen_ai.agent.name') },
          Number(span.attributes['halting.turns']) / 9,
        ]),
      bounds.parts,
    ),
  }
}

/** In any order, with sums as far as spans contain them. */
function sortedPoints(points: readonly Point[]): readonly Point[] {
  const sorted = (values: Values): Values =>
    Object.fromEntries(Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return points
    .map(({ attributes, sum, value, ...more }) => ({
      attributes: sorted(attributes),
      ...(sum !== undefined && { sum: rounded(sum) }),
      ...(value !== undefined && { value: typeof value === 'number' ? rounded(value) : value }),
      ...more,
    }))
    .toSorted((a, b) => (JSON.stringify(a.attributes) < JSON.stringify(b.attributes) ? -1 : 1))
}

test.each(forms)(
  'as $form: sends spans as the tree of the record, and metrics as their sums',
  async ({ env, type, encoding }) => {
    const records = await tracedRun(env)
    const { received } = collector
    const sentAs = received.map(
      ({ path, headers }) => `${path} ${headers['content-type']} ${headers['content-encoding']}`,
    )
    expect(sentAs.toSorted()).toEqual(['/v1/metrics', '/v1/traces'].map((path) => `${path} ${type} ${encoding}`))
    const spans = spansOf(received)
    expect(treesOf(spans).map(asRecorded)).toEqual([treeOfRecord(records)])
    expect(outOfPlace(spans)).toEqual([])
    // Sampled, and the parent is in this process.
    expect(spans.map(({ flags }) => flags)).toEqual(spans.map(() => 0x101))
    const [sent] = metricsOf(received)
    const expected = Object.entries(metricsOfSpans(spans)).map(([key, points]): SentMetric => {
      // True: the keys are those of the table.
      const [name, kind, unit, description] = metricNames[key as keyof typeof metricNames]
      return { name, unit, description, kind, temporality: 2, points: sortedPoints(points) }
    })
    // No span says how close a guard is to firing.
    const known = ({ attributes }: Point): boolean => (attributes['halting.limit'] ?? 'maxTurns') === 'maxTurns'
    const decodedRequests = sent?.metrics.map((metric) => ({
      ...metric,
      points: sortedPoints(metric.points.filter(known)),
    }))
    expect(decodedRequests).toEqual(expected)
    const resource = { ...defaultResource().attributes, 'service.name': 'halting', 'service.version': '0.1.0' }
    expect([...spans, sent].map((each) => [each?.resource, each?.scope])).toEqual(
      [...spans, sent].map(() => [resource, { name: 'halting', version: '' }]),
    )
  },
)

/** IDs in the order in which they appear, and no times, since two sessions differ in nothing else. */
function comparable(received: readonly Received[]): unknown {
  const ids = new Map<string, number>()
  const decodedRequests = received.map((each) => decoded(each))
  return JSON.parse(JSON.stringify(decodedRequests), (name, value: unknown) => {
    if (/^(?:trace|span|parentSpan)Id$/.test(name) && typeof value === 'string') {
      if (!ids.has(value)) ids.set(value, ids.size)
      return ids.get(value)
    }
    return name === 'startTimeUnixNano' || name === 'timeUnixNano' ? 0 : value
  })
}

test('sends identical values in all encodings, including broken texts, large numbers and missing ones', async () => {
  const odd = 'half \ud83d of a pair \udc00, \u0000, \u2028, 日本 and 🙂'
  const usage = { input_tokens: 2 ** 53, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
  const run: Extract<RunEvent, { readonly type: 'run_start' }>['run'] = {
    sessionId: odd,
    runId: 'run1',
    agentPath: '',
    executionCount: 1,
    depth: 0,
  }
  const events: readonly RunEvent[] = [
    { type: 'run_start', run, model: odd },
    { type: 'turn_start', request: 1, turn: 1 },
    { type: 'model_start', request: 1, attempt: 1, model: odd },
    { type: 'model_end', request: 1, attempt: 1, outcome: 'answered', usage, costUsd: 1e-7, durationMs: 1.5 },
    { type: 'tool_start', callId: odd, name: odd, input: { [odd]: odd } },
    { type: 'tool_end', callId: odd, name: odd, status: 'failed', durationMs: 0, output: 'ok', isError: true },
    { type: 'tool_start', callId: 'a', name: 'Long', input: { text: '🙂'.repeat(10_000) } },
    { type: 'tool_end', callId: 'a', name: 'Long', status: 'done', durationMs: -1, output: 'ok', isError: false },
  ]
  const decodedRequests: unknown[] = []
  for (const { env } of forms) {
    collector.forget()
    const settings = telemetrySettings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env })
    const providers = openProviders(settings, '0.1.0')
    const { tracerProvider, meterProvider } = providers
    let time = 1_700_000_000_000.25
    const { onEvent, close } = await telemetry({ tracerProvider, meterProvider, content: true, now: () => (time += 1) })
    for (const event of events) onEvent(event)
    close()
    await providers.shutdown()
    expect(providers.problem()).toBeUndefined()
    decodedRequests.push(comparable(collector.received.toSorted((a, b) => (a.path < b.path ? -1 : 1))))
  }
  expect(decodedRequests.slice(1)).toEqual(decodedRequests.slice(1).map(() => decodedRequests[0]))
  // Invalid text becomes the replacement character.
  expect(JSON.stringify(decodedRequests[0])).toContain('execute_tool half � of a pair �')
})
