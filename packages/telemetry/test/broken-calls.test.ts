// Breaks each call of OpenTelemetry's API by itself: it throws or returns nothing. The other calls still export the
// run, and the first failure is reported.
import type * as api from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { telemetry } from '../src/index.ts'
import { eventsOfARun } from './runs.ts'
import { collector, listenerOf } from './support.ts'

type How = 'throws' | 'gives nothing'

/** The value, with one method of one object below it broken. */
function withBroken<Value extends object>(value: Value, path: readonly string[], how: How): Value {
  const [method, ...below] = path
  return new Proxy(value, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== 'function') return member
      if (key !== method) return member.bind(target)
      return (...given: readonly unknown[]): unknown => {
        if (below.length > 0) {
          const made: unknown = Reflect.apply(member, target, given)
          return typeof made === 'object' && made !== null ? withBroken(made, below, how) : made
        }
        if (how === 'throws') throw new Error(`no ${key}`)
        return undefined
      }
    },
  })
}

const ofSpans = [
  ['getTracer'],
  ['getTracer', 'startSpan'],
  ['getTracer', 'startSpan', 'isRecording'],
  ['getTracer', 'startSpan', 'spanContext'],
  ['getTracer', 'startSpan', 'setAttribute'],
  ['getTracer', 'startSpan', 'addEvent'],
  ['getTracer', 'startSpan', 'setStatus'],
  ['getTracer', 'startSpan', 'end'],
]
const ofMetrics = [
  ['getMeter'],
  ['getMeter', 'createHistogram'],
  ['getMeter', 'createCounter'],
  ['getMeter', 'createHistogram', 'record'],
  ['getMeter', 'createCounter', 'add'],
]
const hows = ['throws', 'gives nothing'] as const
const all = (paths: readonly (readonly string[])[]) =>
  paths.flatMap((path) => hows.map((how) => ({ path, how, call: path.at(-1) ?? '' })))

const metricNames = ['gen_ai.client.token.usage', 'halting.cost', 'halting.laps', 'halting.endings'] as const

test.each(all(ofSpans))('keeps metrics complete when $call of spans $how', async ({ path, how }) => {
  const [whole, to] = [collector(), collector()]
  const problems: string[] = []
  const events = await eventsOfARun()
  const tracerProvider: api.TracerProvider = withBroken(to.tracerProvider, path, how)
  const listener = await listenerOf(to, { tracerProvider, onProblem: (message) => void problems.push(message) })
  const { onEvent } = await listenerOf(whole)
  for (const event of events) for (const tell of [onEvent, listener.onEvent]) tell(event)
  listener.traceparentOf('call_0_0')
  for (const name of metricNames) expect(await to.points(name)).toEqual(await whole.points(name))
  const thrown = [`Telemetry failed; the run continues: no ${path.at(-1)}`]
  expect(problems).toEqual(how === 'throws' ? thrown : problems.slice(0, 1))
})

test.each(all(ofSpans.slice(4, 7)))(
  'keeps all spans and their parents when $call of spans $how',
  async ({ path, how }) => {
    const [whole, to] = [collector(), collector()]
    const events = await eventsOfARun()
    const tracerProvider: api.TracerProvider = withBroken(to.tracerProvider, path, how)
    const [{ onEvent: ofWhole }, { onEvent }] = [await listenerOf(whole), await listenerOf(to, { tracerProvider })]
    for (const event of events) for (const tell of [ofWhole, onEvent]) tell(event)
    expect(to.spans().map(({ name }) => name)).toEqual(whole.spans().map(({ name }) => name))
  },
)

test.each(all(ofMetrics))('keeps spans complete when $call of metrics $how', async ({ path, how }) => {
  const [whole, to] = [collector(), collector()]
  const problems: string[] = []
  const events = await eventsOfARun()
  const meterProvider: api.MeterProvider = withBroken(to.meterProvider, path, how)
  const listener = await listenerOf(to, { meterProvider, onProblem: (message) => void problems.push(message) })
  const { onEvent } = await listenerOf(whole)
  for (const event of events) for (const tell of [onEvent, listener.onEvent]) tell(event)
  expect(to.spans().map(({ name }) => name)).toEqual(whole.spans().map(({ name }) => name))
  expect(problems.length).toBeLessThanOrEqual(1)
})

test('survives any thrown value, even if the listener throws', async () => {
  let calls = 0
  const thrown: readonly unknown[] = [undefined, null, Object.create(null), { toString: () => 1 }, Symbol('s')]
  for (const what of thrown) {
    const tracerProvider = {
      getTracer: () => {
        throw what
      },
    }
    const { onEvent } = await telemetry({
      tracerProvider,
      onProblem() {
        calls++
        throw what
      },
    })
    for (const event of await eventsOfARun()) onEvent(event)
  }
  // One of them cannot be converted to a string.
  expect(calls).toBe(4)
})
