// A run of several days: the memory of telemetry does not grow with it.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { AggregationTemporality, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { CallableHook, type RunEvent } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { telemetry } from '../src/index.ts'
import { isWhole } from '../../core/test/support/deep.ts'
import { calls, done, tools } from './runs.ts'
import { prices, runToEnd } from './support.ts'

setFlagsFromString('--expose-gc')
// The flag adds a function without arguments.
const collectGarbage = runInNewContext('gc') as () => void

const drop = {
  export: (_items: unknown, exported: (result: { code: number }) => void) => exported({ code: 0 }),
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
  selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE,
}

const turns = isWhole ? 100_000 : 40_000

/** The same event, with the id of a call in that turn. */
function inTurn(event: RunEvent, turn: number): RunEvent {
  if (!('callId' in event) || event.callId === null) return event
  const callId = `${event.callId}.${turn}`
  return event.type === 'agent' ? { ...event, callId, event: inTurn(event.event, turn) } : { ...event, callId }
}

/** The memory growth in megabytes, from a tenth of this many turns with these calls to all of them. */
async function heldMore(count: number, names: readonly string[]): Promise<number> {
  const events: RunEvent[] = []
  const hooks = [new CallableHook(() => {}, { triggers: ['afterToolUse'], id: 'looks-on' })]
  const model = scriptedModel([calls(...names), done, done])
  await runToEnd({ model, tools, prices, hooks }, (event) => void events.push(event))
  const from = events.findIndex(({ type }) => type === 'turn_start')
  const to = events.findIndex(({ type }) => type === 'lap') + 1
  const ofOneTurn = events.slice(from, to)
  const { onEvent, close } = await telemetry({
    tracerProvider: new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(drop)] }),
    meterProvider: new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: drop })] }),
  })
  for (const event of events.slice(0, from)) onEvent(event)
  const heldAfter = async (last: number, first: number): Promise<number> => {
    for (let turn = first; turn < last; turn++) {
      for (const event of ofOneTurn) onEvent(inTurn(event, turn))
      // The processor exports its spans when the event loop is idle.
      if (turn % 500 === 0) await new Promise((resolve) => void setTimeout(resolve))
    }
    collectGarbage()
    return process.memoryUsage().heapUsed / 1e6
  }
  const early = await heldAfter(count / 10, 0)
  const late = await heldAfter(count, count / 10)
  close()
  return late - early
}

test(`uses no more memory after ${turns.toLocaleString('en')} turns than at the start`, async () => {
  // A hundred bytes per turn would be nine megabytes.
  expect(await heldMore(turns, ['Look'])).toBeLessThan(2)
})

test('also uses no more memory with failures and subagents', async () => {
  expect(await heldMore(turns / 10, ['Look', 'Breaks', 'Agent'])).toBeLessThan(2)
})
