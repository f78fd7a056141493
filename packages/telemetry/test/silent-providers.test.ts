// Providers that do nothing, that drop everything, or that are registered late.
import { createNoopMeter, ProxyTracerProvider, type MeterProvider } from '@opentelemetry/api'
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import type { RunEvent, Tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { telemetry, type Telemetry, type TelemetryOptions } from '../src/index.ts'
import { calls, done, eventsOfARun } from './runs.ts'
import { collector, listenerOf, prices, runToEnd, type Collector } from './support.ts'

/** As `metrics.getMeterProvider()` returns it if nobody has registered an SDK. The same for spans. */
const noMeters: MeterProvider = { getMeter: () => createNoopMeter() }
const noTracers = new ProxyTracerProvider()

const outer = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }

/** The header that a tool received. */
async function headerIn(options: TelemetryOptions): Promise<string | undefined> {
  const listener = await telemetry(options)
  const headers: (string | undefined)[] = []
  const look: Tool = {
    name: 'Look',
    description: 'looks',
    inputSchema: { type: 'object' },
    readOnly: true,
    async execute(_input, { callId }) {
      // By then the events of this call are processed.
      await new Promise((resolve) => void setTimeout(resolve))
      headers.push(listener.traceparentOf(callId))
      return 'seen'
    },
  }
  await runToEnd({ model: scriptedModel([calls('Look'), done]), tools: [look], prices }, listener.onEvent)
  return headers[0]
}

const metricNames = [
  'gen_ai.client.token.usage',
  'gen_ai.client.operation.duration',
  'halting.cost',
  'halting.laps',
  'halting.endings',
  'halting.turn.duration',
] as const

async function countsOf(to: Collector): Promise<readonly unknown[]> {
  const all = await Promise.all(metricNames.map(async (name) => [name, await to.points(name)] as const))
  // Times differ between runs.
  return all.map(([name, points]) => [name, points.map(({ attributes, count }) => ({ attributes, count }))])
}

function tellAll(events: readonly RunEvent[], ...listeners: readonly Telemetry[]): void {
  for (const event of events) for (const { onEvent } of listeners) onEvent(event)
}

test('gives commands no header of a no-op tracer, but that of the outer span if there is one', async () => {
  const options = { tracerProvider: noTracers, meterProvider: noMeters }
  expect([await headerIn(options), await headerIn({ ...options, parent: outer })]).toEqual([
    undefined,
    outer.traceparent,
  ])
})

test('keeps metrics complete with no-op spans, and spans with no-op metrics', async () => {
  const [whole, metricsAlone, spansAlone] = [collector(), collector(), collector()]
  const events = await eventsOfARun()
  tellAll(
    events,
    await listenerOf(whole),
    await listenerOf(metricsAlone, { tracerProvider: noTracers }),
    await listenerOf(spansAlone, { meterProvider: noMeters }),
  )
  expect(await countsOf(metricsAlone)).toEqual(await countsOf(whole))
  expect(metricsAlone.spans()).toEqual([])
  expect(spansAlone.spans().map(({ name }) => name)).toEqual(whole.spans().map(({ name }) => name))
})

test('exports the second run completely when a provider is registered between two runs', async () => {
  const to = collector()
  const tracers = new ProxyTracerProvider()
  const events = await eventsOfARun()
  const listener = await telemetry({ tracerProvider: tracers })
  tellAll(events, listener)
  tracers.setDelegate(to.tracerProvider)
  tellAll(events, listener)
  const once = collector()
  tellAll(events, await listenerOf(once))
  expect(to.spans().map(({ name }) => name)).toEqual(once.spans().map(({ name }) => name))
})

test('exports no unsampled trace, says so in its header, and keeps metrics complete', async () => {
  const [whole, to] = [collector(), collector()]
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({
    sampler: new AlwaysOffSampler(),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  })
  const events = await eventsOfARun()
  tellAll(events, await listenerOf(whole), await listenerOf(to, { tracerProvider }))
  expect(exporter.getFinishedSpans()).toEqual([])
  expect(await countsOf(to)).toEqual(await countsOf(whole))
  expect(await headerIn({ tracerProvider })).toMatch(/^00-[\da-f]{32}-[\da-f]{16}-00$/)
})
