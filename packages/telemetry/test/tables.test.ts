// Some run exports each entry of the tables in docs/guide/telemetry.md, with the value of the record.
import { SpanStatusCode } from '@opentelemetry/api'
import {
  CallableHook,
  streamRun,
  resume,
  startRun,
  StopSignal,
  type AnyTool,
  type RunEvent,
  type RunOptions,
  type Tool,
} from '@halting/core'
import { contextLayers } from '@halting/core/adapters'
import { createMemorySteps } from '@halting/core/steps'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { conventionAttributes, eventNames, metricNames, ownAttributes, spanNames } from '../src/index.ts'
import { calls, dayBudget, done, eventsOfARun, limited, tools } from './runs.ts'
import { collector, linesOf, listenerOf, prices, runToEnd, treeOf, type Collector } from './support.ts'

const overloaded: ScriptedReply = { error: { kind: 'overloaded', message: 'busy', status: 529 } }
const pointsOf = async (to: Collector, name: string): Promise<readonly unknown[]> =>
  (await to.points(name)).map(({ attributes, value }) => [attributes, value])

/** The model reports its input size, and summarizes the conversation on request. */
function longConversation(): Omit<RunOptions, 'steps' | 'clock'> {
  let asked = 0
  const model = scriptedModel(
    ({ idempotencyKey, messages }) => {
      if (idempotencyKey.includes('/compact:'))
        return { text: 'A summary.', usage: { input_tokens: 7, output_tokens: 3 } }
      const usage = { input_tokens: Math.ceil(JSON.stringify(messages).length / 4), output_tokens: 3 }
      return asked++ < 20 ? { toolCalls: [{ name: 'Long' }], usage } : { text: 'done', usage }
    },
    { id: 'claude-test', contextWindow: 20_000, maxOutputTokens: 1_000 },
  )
  const long: Tool = {
    name: 'Long',
    description: 'a long text',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => 'x'.repeat(4_000),
  }
  return { model, tools: [long], context: contextLayers({ collapse: false, clearResults: false }), prices }
}

async function compacted(to: Collector): Promise<void> {
  const { terminal } = await runToEnd(longConversation(), (await listenerOf(to)).onEvent)
  expect(terminal.reason).toBe('completed')
}

test('exports a compaction as a span with the attempts at its question, and counts it', async () => {
  const to = collector()
  await compacted(to)
  const [first] = to.spans().filter(({ name }) => name === 'halting.compact')
  expect(first?.attributes).toEqual({
    'halting.compact.trigger': 'auto',
    'halting.tokens': expect.any(Number),
    'halting.compact.done': true,
    'halting.stop.message': expect.any(String),
  })
  const question = to.spans().find(({ attributes }) => 'halting.question' in attributes)
  expect(question?.parentSpanContext?.spanId).toBe(first?.spanContext().spanId)
  expect(question?.attributes).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-test',
    'gen_ai.conversation.id': 'session',
    'gen_ai.usage.input_tokens': 7,
    'gen_ai.usage.output_tokens': 3,
    'gen_ai.usage.cache_read.input_tokens': 0,
    'gen_ai.usage.cache_creation.input_tokens': 0,
    'halting.attempt': 1,
    'halting.question': expect.stringMatching(/^compact:/),
    'halting.outcome': 'answered',
    'halting.cost.usd': 10,
  })
  const compactions = to.spans().filter(({ name }) => name === 'halting.compact').length
  expect(await pointsOf(to, 'halting.compactions')).toEqual([
    [{ 'halting.compact.trigger': 'auto', 'halting.compact.done': true }, compactions],
  ])
})

async function retried(to: Collector): Promise<void> {
  await runToEnd({ model: scriptedModel([overloaded, overloaded, done]), prices }, (await listenerOf(to)).onEvent)
}

test('exports a failed attempt as an event with its delay, and counts it', async () => {
  const to = collector()
  await retried(to)
  const events =
    to
      .spans()
      .at(-1)
      ?.events.filter(({ name }) => name === 'halting.retry') ?? []
  expect(events.map(({ attributes }) => attributes)).toEqual(
    [1, 2].map((attempt) => ({
      'error.type': 'overloaded',
      'halting.request': 1,
      'halting.attempt': attempt,
      'halting.retry.delay_ms': expect.any(Number),
      'halting.stop.message': 'busy',
    })),
  )
  expect(await pointsOf(to, 'halting.retries')).toEqual([[{ 'error.type': 'overloaded' }, 2]])
  const attempts = to.spans().filter(({ name }) => name === 'chat scripted')
  expect(attempts.map(({ status }) => status)).toEqual([
    { code: SpanStatusCode.ERROR, message: 'busy' },
    { code: SpanStatusCode.ERROR, message: 'busy' },
    { code: SpanStatusCode.UNSET },
  ])
})

async function stopped(to: Collector): Promise<Awaited<ReturnType<typeof runToEnd>>> {
  const options: Omit<RunOptions, 'steps' | 'clock'> = {
    model: scriptedModel([calls('Look'), calls('Look'), done]),
    tools,
    prices,
    maxTurns: 10,
    maxBudgetUsd: 1e9,
    maxTotalTokens: 1_000_000,
    maxDurationMs: 1e9,
    stopWhen: {
      name: 'tokens-used',
      evaluate: ({ totalTokens }) =>
        totalTokens < 20 ? undefined : new StopSignal({ reason: 'token_limit', message: 'Enough: 20', source: 'mine' }),
      remaining: ({ totalTokens }) => ({ guard: 'tokens-used', used: totalTokens, limit: 20, unit: 'tokens' }),
    },
  }
  return runToEnd(options, (await listenerOf(to)).onEvent)
}

test('exports a stop signal where it was seen, and how much of each limit was used at the end', async () => {
  const to = collector()
  const { terminal } = await stopped(to)
  expect(terminal.reason).toBe('token_limit')
  const [signal] =
    to
      .spans()
      .at(-1)
      ?.events.filter(({ name }) => name === 'halting.signal') ?? []
  expect(signal?.attributes).toEqual({
    'halting.stop.category': 'token_limit',
    'halting.checkpoint': expect.any(String),
    'halting.stop.message': 'Enough: 20',
  })
  const used = await to.points('halting.limit.used')
  const byLimit = used.map(({ attributes, value }) => [Object.values(attributes)[0], value])
  expect(Object.fromEntries(byLimit)).toEqual({
    maxTurns: terminal.summary.turns / 10,
    maxBudgetUsd: terminal.committedUsd / 1e9,
    maxTotalTokens: terminal.totalTokens / 1_000_000,
    maxDurationMs: terminal.durationMs / 1e9,
    'tokens-used': terminal.totalTokens / 20,
  })
})

/** A run whose first check times out. */
async function checked(to: Collector): Promise<void> {
  let checks = 0
  const check = (): Promise<{ met: boolean; exitCode: number }> =>
    checks++ === 0 ? new Promise(() => {}) : Promise.resolve({ met: true, exitCode: 0 })
  const until = [{ name: 'npm test', timeoutMs: 100, check }]
  const options = { model: scriptedModel([calls('Breaks'), done]), tools, prices, until }
  await runToEnd({ ...options, graceMs: 0 }, (await listenerOf(to, { content: true })).onEvent)
}

/** A run that a standing budget ends. */
async function refused(to: Collector): Promise<void> {
  const options = { model: scriptedModel([calls('Look'), calls('Look'), done]), tools, prices }
  await runToEnd({ ...options, standing: dayBudget() }, (await listenerOf(to)).onEvent)
}

/** A run whose last change is followed by a check, or not. */
async function changed(to: Collector, passed = false): Promise<void> {
  const fileWork = { changedLines: 3, check: { command: 'npm test', passed } }
  const work: Tool = {
    name: 'Work',
    description: 'changes a file and checks it',
    inputSchema: { type: 'object' },
    readOnly: false,
    execute: () => ({ content: 'ok', fileWork }),
  }
  const options = { model: scriptedModel([calls('Work'), done]), tools: [work], prices } as const
  await runToEnd({ ...options, verification: { mode: 'tell' } }, (await listenerOf(to)).onEvent)
}

test.each([false, true])(
  'exports whether the last change was checked as an attribute of the run: %s',
  async (passed) => {
    const to = collector()
    await changed(to, passed)
    const run = to.spans().findLast(({ name }) => name === 'invoke_agent halting')
    expect(run?.attributes).toMatchObject({ 'halting.run.verified': String(passed) })
    const without = collector()
    await retried(without)
    expect(without.spans().some(({ attributes }) => 'halting.run.verified' in attributes)).toBe(false)
  },
)

/** A run that waits for a service. */
async function waited(to: Collector): Promise<void> {
  const options = { model: scriptedModel([limited(3_600_000), done]), tools, prices, waitForLimitsMs: 8 * 3_600_000 }
  await runToEnd(options, (await listenerOf(to)).onEvent)
}

/** A run whose limit is raised when it is reached. */
async function paused(to: Collector): Promise<void> {
  const askLimit: RunOptions['askLimit'] = () => Promise.resolve({ raise: { maxTurns: 4 } })
  const options = { model: scriptedModel([calls('Look'), done]), tools, prices, maxTurns: 1, askLimit } as const
  await runToEnd({ ...options, onLimit: 'pause' }, (await listenerOf(to)).onEvent)
}

/** A run whose model was called by an earlier process, and whose tool is called by this one. */
async function resumed(to: Collector): Promise<readonly RunEvent[]> {
  const clock = createFakeClock({ autoAdvance: true })
  const steps = createMemorySteps({ clock })
  const hooks = [new CallableHook(() => {}, { triggers: ['beforeToolUse', 'afterToolUse'], id: 'looks-on' })]
  const running = streamRun(startRun({ prompt: 'go' }), {
    model: scriptedModel([calls('Look'), done]),
    tools,
    prices,
    hooks,
    clock,
    steps,
  })
  await running.result
  const until = steps.records.findIndex((record) => record.type === 'result' && record.key.includes('model:1.1'))
  const { onEvent } = await listenerOf(to, { sessionId: 'session' })
  const events: RunEvent[] = []
  const options = { model: scriptedModel([done]), tools, prices, hooks, clock }
  for await (const event of resume(steps.records.slice(0, until + 1), options).loop) {
    events.push(event)
    onEvent(event)
  }
  return events
}

test('exports hooks of a resumed run only after the first live event', async () => {
  const to = collector()
  const events = await resumed(to)
  expect(events.filter(({ type }) => type === 'hook_start')).toHaveLength(2)
  expect(linesOf(treeOf(to.spans()))).toEqual([
    'invoke_agent halting',
    '  halting.turn',
    '    execute_tool Look',
    '      halting.hook looks-on',
    '  halting.turn',
    '    chat scripted',
  ])
  const [hook] = to.spans().filter(({ name }) => name.startsWith('halting.hook'))
  expect(hook?.attributes['halting.hook.trigger']).toBe('afterToolUse')
})

test('covers every span, event, attribute and metric of the tables', async () => {
  const to = collector()
  await compacted(to)
  await retried(to)
  await stopped(to)
  await resumed(to)
  await checked(to)
  await refused(to)
  await waited(to)
  await paused(to)
  await changed(to)
  const { onEvent, close } = await listenerOf(to, { content: true, sessionId: 'session' })
  const events = await eventsOfARun()
  for (const event of events) onEvent(event)
  // A run that is abandoned in the middle.
  for (const event of events.slice(0, 12)) onEvent(event)
  close()
  const spans = to.spans()
  const metrics = await Promise.all(
    Object.values(metricNames).map(async ([name]) => [name, await to.points(name)] as const),
  )
  const attributes = [
    ...spans.flatMap((span) => [span.attributes, ...span.events.map((event) => event.attributes ?? {})]),
    ...metrics.flatMap(([, points]) => points.map((point) => point.attributes)),
  ].flatMap((each) => Object.keys(each))
  const sortedUnique = (names: Iterable<string>) => [...new Set(names)].toSorted()
  expect(sortedUnique(attributes)).toEqual(
    sortedUnique([...Object.values(ownAttributes).map(([name]) => name), ...Object.values(conventionAttributes)]),
  )
  expect(sortedUnique(spans.flatMap((span) => span.events.map(({ name }) => name)))).toEqual(
    sortedUnique(Object.values(eventNames).map(([name]) => name)),
  )
  expect(metrics.filter(([, points]) => points.length === 0)).toEqual([])
  const kinds = Object.values(spanNames).map(([name]) => name.replace(/ [A-Z]+$/, ''))
  expect(
    sortedUnique(spans.map(({ name }) => name.replace(/^(invoke_agent|chat|execute_tool|halting\.hook) .*$/, '$1'))),
  ).toEqual(sortedUnique(kinds))
})

test('truncates names of more than 256 characters', async () => {
  const to = collector()
  const long = 'x'.repeat(300)
  const model = scriptedModel([{ toolCalls: [{ name: long, id: long }] }, done], { id: long })
  // Created only for this list.
  await runToEnd({ model, tools: [] as readonly AnyTool[], prices }, (await listenerOf(to)).onEvent)
  const cut = 'x'.repeat(256)
  expect(new Set(to.spans().map(({ name }) => name))).toEqual(
    new Set([`chat ${cut}`, `execute_tool ${cut}`, 'halting.turn', 'invoke_agent halting']),
  )
})
