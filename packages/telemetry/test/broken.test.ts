// For missing, repeated and reordered events, and for failing providers: every span ends, and everything that works is
// exported.
import { BasicTracerProvider, type SpanProcessor } from '@opentelemetry/sdk-trace-base'
import * as api from '@opentelemetry/api'
import { assert, asyncProperty, array, integer, nat, tuple } from 'fast-check'
import { CallableHook } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { CallTraces } from '../src/call-traces.ts'
import { AttributeTexts } from '../src/content.ts'
import { FailureGuard } from '../src/guard.ts'
import { telemetry, type TelemetryOptions } from '../src/index.ts'
import { TraceNode } from '../src/node.ts'
import { calls, done, eventsOfARun, tools } from './runs.ts'
import { collector, listenerOf, prices, runToEnd } from './support.ts'

test('ends every span for missing, repeated and reordered events', async () => {
  const events = await eventsOfARun()
  expect(new Set(events.map(({ type }) => type))).toContain('agent')
  const many = array(tuple(nat({ max: events.length - 1 }), integer({ min: 1, max: 12 })), { maxLength: 40 })
  await assert(
    asyncProperty(many, async (pieces) => {
      const open = new Set<string>()
      let begun = 0
      const processor: SpanProcessor = {
        onStart(span) {
          begun++
          open.add(span.spanContext().spanId)
        },
        onEnd: (span) => void open.delete(span.spanContext().spanId),
        forceFlush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
      }
      const problems: string[] = []
      const { onEvent, close } = await telemetry({
        tracerProvider: new BasicTracerProvider({ spanProcessors: [processor] }),
        onProblem: (message) => void problems.push(message),
      })
      onEvent({ type: 'run_start', run: { sessionId: 's', runId: 'run1', agentPath: '', depth: 0 }, model: 'm' })
      for (const [from, count] of pieces) for (const event of events.slice(from, from + count)) onEvent(event)
      close()
      expect({ open: open.size, problems }).toEqual({ open: 0, problems: [] })
      expect(begun).toBeGreaterThan(0)
    }),
  )
})

/** Throws on any access. */
const broken: object = new Proxy(
  {},
  {
    get() {
      throw new Error('broken')
    },
  },
)
/** Returns an object for this property that throws. */
const giving = (what: string): object => ({ [what]: () => broken })

test.each([
  ['at once', broken],
  ['later', giving('getMeter')],
  ['only on use', { getMeter: () => ({ createHistogram: () => broken, createCounter: () => broken }) }],
])('keeps spans complete when metrics throw %s', async (_when, given) => {
  const [whole, to] = [collector(), collector()]
  const events = await eventsOfARun()
  const problems: string[] = []
  const more: TelemetryOptions = {
    // As a program in plain JavaScript may pass it.
    meterProvider: given as api.MeterProvider,
    onProblem: (message) => void problems.push(message),
  }
  const [{ onEvent: ofWhole }, { onEvent }] = [await listenerOf(whole), await listenerOf(to, more)]
  for (const event of events) for (const tell of [ofWhole, onEvent]) tell(event)
  expect(to.spans().map(({ name }) => name)).toEqual(whole.spans().map(({ name }) => name))
  expect(problems).toEqual(['Telemetry failed; the run continues: broken'])
})

test.each([
  ['at once', broken],
  ['later', giving('getTracer')],
  ['only on use', { getTracer: () => ({ startSpan: () => broken }) }],
])('keeps metrics complete when spans throw %s', async (_when, given) => {
  const [whole, to] = [collector(), collector()]
  const events = await eventsOfARun()
  // As a program in plain JavaScript may pass it.
  const tracerProvider = given as api.TracerProvider
  const [{ onEvent: ofWhole }, { onEvent }] = [await listenerOf(whole), await listenerOf(to, { tracerProvider })]
  for (const event of events) for (const tell of [ofWhole, onEvent]) tell(event)
  for (const name of ['halting.endings', 'halting.laps', 'halting.cost', 'gen_ai.client.token.usage'])
    expect(await to.points(name)).toEqual(await whole.points(name))
})

test('does not export a text that cannot be redacted', async () => {
  const to = collector()
  const redact = (): string => {
    throw new Error('no')
  }
  const { onEvent } = await listenerOf(to, { content: true, redact })
  await runToEnd({ model: scriptedModel([calls('Look'), done]), tools, prices }, onEvent, { prompt: 'my own words' })
  expect(to.spans().at(-1)?.name).toBe('invoke_agent halting')
  expect(JSON.stringify(to.spans().map(({ attributes }) => attributes))).not.toMatch(/my own words|seen|\\"done/)
})

test('exports the output of a failed hook only with all content', async () => {
  const failing = new CallableHook(
    () => {
      throw new Error('cannot look at /secret/plan.md')
    },
    { triggers: ['beforeToolUse'], id: 'strict' },
  )
  const statuses: unknown[] = []
  for (const content of [{ toolInputs: true }, true]) {
    const to = collector()
    const { onEvent } = await listenerOf(to, { content })
    await runToEnd({ model: scriptedModel([calls('Look'), done]), tools, prices, hooks: [failing] }, onEvent)
    const [hook] = to.spans().filter(({ name }) => name.startsWith('halting.hook'))
    statuses.push([hook?.status.code, hook?.status.message?.includes('/secret/plan.md')])
  }
  expect(statuses).toEqual([
    [api.SpanStatusCode.ERROR, undefined],
    [api.SpanStatusCode.ERROR, true],
  ])
})

test('forgets calls of a run that never ends', () => {
  const scope = {
    api,
    tracing: undefined,
    instruments: undefined,
    texts: new AttributeTexts({}, new FailureGuard()),
    providerOf: () => '',
    now: () => 0,
  }
  const traces = new CallTraces(scope, () => true)
  const root = new TraceNode(undefined, undefined, '', { kind: api.SpanKind.INTERNAL, attributes: {}, startTime: 0 })
  for (let call = 0; call < 5_000; call++) {
    const about = { request: call, callId: `call${call}`, name: 'Look' } as const
    traces.start({ type: 'tool_start', ...about, input: {} }, root)
    if (call > 0)
      traces.end({ type: 'tool_end', ...about, status: 'done', durationMs: 1, output: 'ok', isError: false })
    traces.flush()
  }
  const kept = Array.from({ length: 5_000 }, (_, call) => traces.nodeOf(`call${call}`)).filter((node) => node)
  expect(kept.length).toBeLessThan(300)
  // It is still running, and its hooks may still start.
  expect([traces.nodeOf('call0')?.isEnded, traces.nodeOf('call4999')?.isEnded]).toEqual([false, true])
})
