// Tests R-WHYW-6 of docs/spec: a wait for a service is a span with its whole wall time, even across a kill, and a
// metric counts it.
import { SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { resume, streamRun, startRun, type RunEvent, type RunOptions, type StepRecord } from '@halting/core'
import { createMemorySteps } from '@halting/core/steps'
import { createFakeClock, scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { calls, done, limited, tools } from './runs.ts'
import { collector, linesOf, listenerOf, prices, runToEnd, treeOf, type Collector } from './support.ts'

const hour = 3_600_000
const isWait = ({ name }: ReadableSpan): boolean => name === 'halting.service.wait'
const msOf = ({ duration: [seconds, nanos] }: ReadableSpan): number => Math.round(seconds * 1_000 + nanos / 1e6)
const waitedIn = (events: readonly RunEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'service_waited' ? [event.waitedMs] : []))

async function pointsOf(to: Collector): Promise<readonly unknown[]> {
  const points = await to.points('halting.service.wait.duration')
  return points.map(({ attributes, value, count }) => [attributes, Math.round(value * 1_000), count])
}

test('exports a wait as a span between attempts of its turn, with duration, cause and outcome', async () => {
  const to = collector()
  const events: RunEvent[] = []
  const { onEvent } = await listenerOf(to)
  const { terminal } = await runToEnd(
    { model: scriptedModel([limited(hour), done]), tools, prices, waitForLimitsMs: 8 * hour },
    (event) => {
      events.push(event)
      onEvent(event)
    },
  )
  expect(terminal.reason).toBe('completed')
  const [turn] = treeOf(to.spans())[0]?.children ?? []
  expect(turn?.children.map(({ name }) => name).toSorted()).toEqual([
    'chat scripted',
    'chat scripted',
    'halting.service.wait',
  ])
  const [span, ...others] = to.spans().filter(isWait)
  expect(others).toEqual([])
  const [waitedMs = 0] = waitedIn(events)
  expect(waitedMs).toBeGreaterThanOrEqual(hour)
  expect(span === undefined ? 0 : msOf(span)).toBe(waitedMs)
  expect(span?.status.code).toBe(SpanStatusCode.UNSET)
  expect(span?.attributes).toEqual({
    'gen_ai.request.model': 'scripted',
    'gen_ai.provider.name': expect.any(String),
    'error.type': 'rate_limit',
    'http.response.status_code': 429,
    'halting.stop.message': 'too many requests',
    'halting.service.outcome': 'over',
    'halting.service.waited_ms': waitedMs,
  })
  const [failed] = to.spans().filter(({ name }) => name === 'chat scripted')
  expect([failed?.attributes['error.type'], failed?.status]).toEqual([
    'rate_limit',
    { code: SpanStatusCode.ERROR, message: 'too many requests' },
  ])
  const root = to.spans().find(({ name }) => name === 'invoke_agent halting')
  expect(root?.attributes['halting.active_ms']).toBe(0)
  expect(await pointsOf(to)).toEqual([
    [
      {
        'gen_ai.request.model': 'scripted',
        'gen_ai.provider.name': expect.any(String),
        'error.type': 'rate_limit',
        'halting.service.outcome': 'over',
        'gen_ai.agent.name': 'halting',
      },
      waitedMs,
      1,
    ],
  ])
})

test("places a subagent's wait in its turn", async () => {
  const to = collector()
  const model = scriptedModel([calls('Agent'), limited(hour), done, done])
  await runToEnd({ model, tools, prices, waitForLimitsMs: 8 * hour }, (await listenerOf(to)).onEvent)
  const lines = linesOf(treeOf(to.spans()))
  expect(lines.filter((line) => line.endsWith('halting.service.wait'))).toEqual([
    `${'  '.repeat(5)}halting.service.wait`,
  ])
})

/** A run that waits for a service when its process is killed: the events of that process, and its records. */
async function killed(to: Collector): Promise<readonly StepRecord[]> {
  const records: StepRecord[] = []
  let isDead = false
  const clock = createFakeClock({ autoAdvance: true })
  const { onEvent } = await listenerOf(to)
  await new Promise<void>((resolve) => {
    const steps = createMemorySteps({
      clock,
      onRecord(record) {
        isDead ||= record.type === 'result' && record.key.endsWith('.service')
        if (isDead) throw new Error('The process died.')
        records.push(JSON.parse(JSON.stringify(record)) as StepRecord)
      },
    })
    const model = scriptedModel([limited(hour)])
    const options = { model, tools, prices, waitForLimitsMs: 8 * hour, clock, steps }
    const running = streamRun(startRun({ prompt: 'go' }), options)
    void running.result.then(() => resolve())
    const listen = async (): Promise<void> => {
      for await (const event of running) if (event.type !== 'run_end') onEvent(event)
    }
    void listen()
  })
  return records
}

test('exports the whole wait once, from the process that ends it', async () => {
  const to = collector()
  const records = await killed(collector())
  const clock = createFakeClock({ start: hour / 2, autoAdvance: true })
  const { onEvent } = await listenerOf(to)
  const events: RunEvent[] = []
  const options = { model: scriptedModel([done]), tools, prices, waitForLimitsMs: 8 * hour, clock }
  const { loop } = resume(records, options)
  for await (const event of loop) {
    events.push(event)
    onEvent(event)
  }
  const [waitedMs = 0] = waitedIn(events)
  expect(waitedMs).toBeGreaterThanOrEqual(hour)
  expect(clock.now()).toBe(waitedMs)
  expect(to.spans().filter(isWait).map(msOf)).toEqual([waitedMs])
  // The earlier process exported the attempt before it.
  expect(to.spans().map(({ name }) => name)).toEqual([
    'halting.service.wait',
    'chat scripted',
    'halting.turn',
    'invoke_agent halting',
  ])
  expect((await pointsOf(to)).map((point) => (point as readonly unknown[]).slice(1))).toEqual([[waitedMs, 1]])
})

test('does not export a recorded wait again', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const steps = createMemorySteps({ clock })
  const options = { tools, prices, waitForLimitsMs: 8 * hour, clock }
  const script = [limited(hour), calls('Look'), done]
  await streamRun(startRun({ prompt: 'go' }), { ...options, model: scriptedModel(script), steps }).result
  const until = steps.records.findIndex((record) => record.type === 'result' && record.key.includes('model:1.2'))
  const to = collector()
  const { onEvent } = await listenerOf(to)
  for await (const event of resume(steps.records.slice(0, until + 1), { ...options, model: scriptedModel([done]) })
    .loop)
    onEvent(event)
  expect(to.spans().filter(isWait)).toEqual([])
  expect(await pointsOf(to)).toEqual([])
})

test('exports a pause at a limit as a span with the limit and its outcome', async () => {
  const to = collector()
  const model = scriptedModel([calls('Look'), done])
  const askLimit: RunOptions['askLimit'] = () => new Promise(() => {})
  const options = { model, tools, prices, maxTurns: 1, onLimit: 'pause', pauseForMs: hour, askLimit } as const
  const { terminal } = await runToEnd(options, (await listenerOf(to)).onEvent)
  expect(terminal.reason).toBe('max_turns')
  const [pause, ...others] = to.spans().filter(({ name }) => name === 'halting.limit.pause')
  expect(others).toEqual([])
  expect(pause === undefined ? 0 : msOf(pause)).toBe(hour)
  expect(pause?.attributes).toEqual({
    'halting.limit': 'maxTurns',
    'halting.limit.outcome': 'over',
    'halting.limit.waited_ms': hour,
  })
  const points = await to.points('halting.limit.pause.duration')
  expect(points.map(({ value }) => value)).toEqual([hour / 1_000])
})

test('ends the span of a wait as unfinished when the session is abandoned', async () => {
  const to = collector()
  const { onEvent, close } = await listenerOf(to)
  const error = { kind: 'overloaded', message: 'busy', status: 529 } as const
  const about = { model: 'm', error: { ...error, retryable: true, retryAfterMs: null, requestId: null, usage: null } }
  onEvent({ type: 'run_start', run: { sessionId: 's', runId: 'run1', agentPath: '', depth: 0 }, model: 'm' })
  const wait = { type: 'service_wait', ...about, sinceMs: 0, untilMs: 1, isWaiting: true } as unknown as RunEvent
  onEvent(wait)
  close()
  const [span] = to.spans().filter(isWait)
  expect(span?.attributes).toMatchObject({ 'error.type': 'overloaded', 'halting.unfinished': true })
})

test('exports impossible durations as spans of zero length', async () => {
  for (const waitedMs of [-1, Number.NaN, Infinity, 1e300]) {
    const to = collector()
    const { onEvent, close } = await listenerOf(to)
    const error = { kind: 'connection', message: 'refused', status: null, retryable: true }
    onEvent({ type: 'run_start', run: { sessionId: 's', runId: 'run1', agentPath: '', depth: 0 }, model: 'm' })
    // A record may have any value.
    onEvent({ type: 'service_waited', outcome: 'over', waitedMs, model: 'm', error } as unknown as RunEvent)
    close()
    expect(to.spans().filter(isWait).map(msOf)).toEqual([0])
  }
})
