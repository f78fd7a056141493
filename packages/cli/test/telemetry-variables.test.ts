// Each variable of docs/guide/telemetry.md has its documented effect in the program; an invalid value causes a message, and stops no run.
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { telemetrySettings } from '../src/telemetry/telemetry-settings.ts'
import { metricsOf, spansOf } from './support/otlp-forms.ts'
import { installCollector } from './support/otlp.ts'
import { call, type Ended, installProgram, run, script } from './support/program.ts'

installProgram()
const collector = installCollector()

let replies = ''
beforeAll(() => {
  const command = 'env | grep -c "^OTEL_.*HEADERS="; echo "in [$TRACEPARENT] [$TRACESTATE]"'
  replies = script([{ content: [call('Bash', { command })] }, { content: ['It is done.'] }], 'claude-sonnet-4-5')
})

type Variables = Readonly<Record<string, string>>

async function work(env: Variables, at: Variables = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }): Promise<Ended> {
  const flags = ['--script', replies, '--allowedTools', 'Bash', '--output-format', 'stream-json', '--verbose']
  const ended = await run(['-p', 'go', ...flags], { env: { ...at, ...env } })
  expect([ended.status, ended.stdout.includes('It is done.')]).toEqual([0, true])
  return ended
}

const paths = (): readonly string[] => collector.received.map(({ path }) => path).toSorted()
const names = (): readonly string[] => spansOf(collector.received).map(({ name }) => name)

test('is turned on only by what the guide says, off by what it says, and by each of the two exporters alone', async () => {
  await work({ OTEL_SERVICE_NAME: 'of-mine', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, {})
  await work({ OTEL_SDK_DISABLED: 'true' })
  await work({ HALTING_TELEMETRY: '0', CLAUDE_CODE_ENABLE_TELEMETRY: '1' })
  await work({ CLAUDE_CODE_ENABLE_TELEMETRY: '0' })
  expect(paths()).toEqual([])
  await work({ OTEL_TRACES_EXPORTER: 'none' })
  expect(paths()).toEqual(['/v1/metrics'])
  collector.forget()
  await work({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' })
  expect(paths()).toEqual(['/v1/traces'])
  collector.forget()
  await work({ OTEL_METRICS_EXPORTER: 'otlp' })
  expect(paths()).toEqual(['/v1/metrics'])
})

test('sends each signal to its address, with its headers, protocol and compression', async () => {
  const { stderr, stdout } = await work(
    {
      OTEL_EXPORTER_OTLP_HEADERS: 'x-all=1,x-both=all,authorization=Bearer%20key-of-mine',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-both=traces',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x-both=metrics,x-more=2',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'none',
    },
    {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/in/spans`,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/in/sums?of=mine`,
    },
  )
  expect(stderr).toBe('')
  const wanted = ['x-all', 'x-both', 'x-more', 'authorization', 'content-type', 'content-encoding']
  const sent = collector.received.map(({ path, headers }) => [path, ...wanted.map((name) => headers[name])])
  expect(Object.fromEntries(sent.map(([path, ...more]) => [path, more]))).toEqual({
    '/in/spans': ['1', 'traces', undefined, 'Bearer key-of-mine', 'application/json', undefined],
    '/in/sums?of=mine': ['1', 'metrics', '2', 'Bearer key-of-mine', 'application/x-protobuf', 'gzip'],
  })
  // A command has none of the three variables with headers.
  expect(stdout).toContain('"0\\nin [00-')
})

test('drops an invalid header, and sends the rest', async () => {
  const { stderr } = await work({ OTEL_EXPORTER_OTLP_HEADERS: 'ok=%zz,bad name=1,line=a\nb,zero=%00' })
  expect(stderr.trimEnd().split('\n')).toEqual(
    ['bad name', 'line', 'zero'].map(
      (name) => `halting: OTEL_EXPORTER_OTLP_HEADERS: "${name}" is not a valid header, and is ignored.`,
    ),
  )
  expect(paths()).toEqual(['/v1/metrics', '/v1/traces'])
  expect(collector.received.map(({ headers }) => [headers['ok'], headers['line'], headers['zero']])).toEqual([
    ['%zz', undefined, undefined],
    ['%zz', undefined, undefined],
  ])
})

test('sends the service name and resource attributes', async () => {
  await work({ OTEL_SERVICE_NAME: 'agents', OTEL_RESOURCE_ATTRIBUTES: 'team=a%2Cb,service.name=other,stage=test' })
  const resources = [...spansOf(collector.received), ...metricsOf(collector.received)].map(({ resource }) => resource)
  expect(resources).toEqual(
    resources.map(() => expect.objectContaining({ 'service.name': 'agents', team: 'a,b', stage: 'test' })),
  )
})

test.each([
  ['delta', 1],
  ['lowmemory', 1],
  ['cumulative', 2],
])('sends metrics as %s, at the configured interval', async (preference, temporality) => {
  await work({
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: preference,
    OTEL_METRIC_EXPORT_INTERVAL: '20',
  })
  const all = metricsOf(collector.received)
  expect(new Set(all.flatMap(({ metrics }) => metrics.map((metric) => metric.temporality)))).toEqual(
    new Set([temporality]),
  )
  expect(all.length).toBeGreaterThan(1)
  const iterations = all.flatMap(({ metrics }) =>
    metrics.flatMap(({ name, points }) => (name === 'halting.laps' ? points.map(({ value }) => value) : [])),
  )
  expect(new Set(iterations)).toEqual(new Set([1n]))
})

const outer = '0af7651916cd43dd8448eb211c80319c'

test.each<[string, Variables, boolean]>([
  ['always_off', { OTEL_TRACES_SAMPLER: 'always_off' }, false],
  ['a part of 0', { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, false],
  ['a part of 1', { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '1' }, true],
  ['a parent that is not sampled', { TRACEPARENT: `00-${outer}-b7ad6b7169203331-00` }, false],
  [
    'a parent that is sampled',
    { OTEL_TRACES_SAMPLER: 'parentbased_always_off', TRACEPARENT: `00-${outer}-b7ad6b7169203331-01` },
    true,
  ],
  [
    'always_on below a parent that is not sampled',
    { OTEL_TRACES_SAMPLER: 'always_on', TRACEPARENT: `00-${outer}-b7ad6b7169203331-00` },
    true,
  ],
])('%s: decides whether spans are sent, and commands are informed', async (_what, env, isSampled) => {
  const { stdout } = await work(env)
  expect(paths()).toEqual(isSampled ? ['/v1/metrics', '/v1/traces'] : ['/v1/metrics'])
  const [, trace = '', flags] = /in \[00-([\da-f]{32})-[\da-f]{16}-(\d\d)\]/.exec(stdout) ?? []
  expect(flags).toBe(isSampled ? '01' : '00')
  expect(trace === outer).toBe('TRACEPARENT' in env)
})

test('continues the parent trace of runs, with its state', async () => {
  const { stdout } = await work({ TRACEPARENT: `00-${outer}-b7ad6b7169203331-01`, TRACESTATE: 'mine=1,other=2' })
  const spans = spansOf(collector.received)
  expect(new Set(spans.map(({ traceId, traceState }) => [traceId, traceState].join(' ')))).toEqual(
    new Set([`${outer} mine=1,other=2`]),
  )
  expect(spans.filter(({ parentSpanId }) => parentSpanId === 'b7ad6b7169203331').map(({ name }) => name)).toEqual([
    'invoke_agent halting',
  ])
  expect(stdout).toContain('[mine=1,other=2]')
})

test('waits for an answer as configured, and reports a timeout', async () => {
  collector.answer = (response) => void pause(400).then(() => response.writeHead(200).end())
  const { stderr } = await work({ OTEL_EXPORTER_OTLP_TIMEOUT: '50', OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '5000' })
  expect(stderr).toMatch(/^halting: some telemetry was not sent to .*\/v1\/traces: it did not answer in time\.\n$/)
})

test('exits after two seconds at most if a collector never answers, and reports it once', async () => {
  collector.answer = () => undefined
  const { stderr } = await work({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=key-of-mine' })
  const place = collector.url.replaceAll('.', '\\.')
  expect(stderr).toMatch(
    new RegExp(`^halting: some telemetry was not sent: ${place}/v1/traces did not answer within 2 s\\.\n$`),
  )
})

test('reports an error of a collector once, without its answer', async () => {
  collector.answer = (response) => void response.writeHead(401).end('no such key: key-of-mine')
  const { stderr } = await work({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=key-of-mine' })
  expect(stderr).toMatch(/^halting: some telemetry was not sent to http.*: it answered 401\.\n$/)
})

test('batches spans as configured', async () => {
  await work({ OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1', OTEL_BSP_SCHEDULE_DELAY: '1' })
  expect(collector.received.filter(({ path }) => path === '/v1/traces').length).toBe(names().length)
  collector.forget()
  // Until it has answered for the first ones, at most two wait.
  collector.answer = (response) => void pause(400).then(() => response.writeHead(200).end())
  await work({ OTEL_BSP_MAX_QUEUE_SIZE: '2' })
  expect(names().length).toBeLessThan(6)
})

test('reads variables from settings like those of the environment', async () => {
  const settings = JSON.stringify({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'by-settings' },
  })
  const { status } = await run(['-p', 'go', '--script', replies, '--allowedTools', 'Bash', '--settings', settings])
  expect(status).toBe(0)
  expect(new Set(spansOf(collector.received).map(({ resource }) => resource['service.name']))).toEqual(
    new Set(['by-settings']),
  )
})

/** Invalid values, and the messages about them; none if the specification defines the behavior. */
const nonsense: readonly (readonly [name: string, value: string, said: readonly string[]])[] = [
  ['OTEL_TRACES_EXPORTER', 'zipkin,jaeger', ['must be otlp or none, not "zipkin,jaeger". Spans are not sent.']],
  ['OTEL_METRICS_EXPORTER', 'x'.repeat(99), [`must be otlp or none, not "${'x'.repeat(40)}…". Metrics are not sent.`]],
  [
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'not a url',
    ['Spans', 'Metrics'].map(
      (what) => `must be an address that begins with http:// or https://. ${what} are not sent.`,
    ),
  ],
  [
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    'localhost:4318',
    ['must be an address that begins with http:// or https://. Spans are not sent.'],
  ],
  [
    'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL',
    'http/xml',
    [
      'must be http/protobuf or http/json, not "http/xml". Collectors usually accept both at port 4318. Metrics are not sent.',
    ],
  ],
  ['OTEL_EXPORTER_OTLP_HEADERS', '=,', ['must be name=value pairs, separated by commas. One invalid part is ignored.']],
  [
    'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
    'soon',
    ['must be a number of milliseconds, 1 or more. The default 10000 is used.'],
  ],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'brotli', ['must be one of none, gzip. The default none is used.']],
  [
    'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE',
    'both',
    ['must be one of cumulative, delta, lowmemory. The default cumulative is used.'],
  ],
  ['OTEL_METRIC_EXPORT_INTERVAL', '-1', ['must be a number of milliseconds, 1 or more. The default 60000 is used.']],
  ['OTEL_METRIC_EXPORT_INTERVAL', '1e99', ['must be a number of milliseconds, 1 or more. The default 60000 is used.']],
  ['OTEL_BSP_SCHEDULE_DELAY', '0', ['must be a number of milliseconds, 1 or more. The default 5000 is used.']],
  [
    'OTEL_BSP_EXPORT_TIMEOUT',
    '99999999999',
    ['must be a number of milliseconds, 1 or more. The default 30000 is used.'],
  ],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '-1', ['must be a whole number, 1 or more. The default 2048 is used.']],
  ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '0', ['must be a whole number, 1 or more. The default 512 is used.']],
  ['OTEL_RESOURCE_ATTRIBUTES', 'team', ['must be name=value pairs, separated by commas. One invalid part is ignored.']],
  [
    'OTEL_TRACES_SAMPLER',
    'sometimes',
    [
      'must be one of always_on, parentbased_always_on, always_off, parentbased_always_off, traceidratio, parentbased_traceidratio. The default parentbased_always_on is used.',
    ],
  ],
  // It has no effect without a sampler that uses it.
  ['OTEL_TRACES_SAMPLER_ARG', '7', []],
  // An invalid trace header starts a new trace.
  ['TRACEPARENT', '00-zz-1', []],
  ['TRACESTATE', '==,,\u0001', []],
]

test.each(nonsense)('%s=%s', (name, value, said) => {
  expect(telemetrySettings({ [name]: value }).problems).toEqual(said.map((sentence) => `${name} ${sentence}`))
})

test('an invalid share of traces: 7 of 1', () => {
  const { sampler, problems } = telemetrySettings({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '7' })
  expect([sampler.ratio, problems]).toEqual([
    1,
    ['OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1. The default 1 is used.'],
  ])
})

test('prints each message once for invalid values in every variable, and the run continues', async () => {
  const all = nonsense.filter(([name]) => !name.includes('_EXPORTER') && !/ENDPOINT|PROTOCOL/.test(name))
  const { stderr } = await work(Object.fromEntries(all.map(([name, value]) => [name, value])))
  const said = all.flatMap(([name, , sentences]) => sentences.map((sentence) => `halting: ${name} ${sentence}`))
  expect(stderr.trimEnd().split('\n').toSorted()).toEqual([...new Set(said)].toSorted())
  expect(paths()).toEqual(['/v1/metrics', '/v1/traces'])
})
