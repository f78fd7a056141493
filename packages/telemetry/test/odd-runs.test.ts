// Runs that are deep, interleaved with others, or under a clock that goes backwards.
import { SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { AgentTool, AnyTool, RunEvent } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { done, eventsOfARun, tools as all } from './runs.ts'
import { collector, linesOf, listenerOf, prices, runToEnd, treeOf, type Collector } from './support.ts'

/** A run that starts within another has no end event: its spans end as unfinished. */
const unfinished = (to: Collector): number =>
  to.spans().filter(({ attributes }) => attributes['halting.unfinished'] === true).length

test('nests subagents five levels deep', async () => {
  const agent: AgentTool<{ readonly depth: number }> = {
    name: 'Agent',
    description: 'a subagent',
    inputSchema: { type: 'object' },
    readOnly: true,
    spawn: ({ depth }) => ({ prompt: String(depth), agentType: `level${depth}` }),
  }
  const to = collector()
  const { onEvent } = await listenerOf(to)
  const model = scriptedModel(({ messages }) => {
    const depth = Number(messages[0]?.content)
    if (depth === 5 || messages.length > 1) return done
    return { toolCalls: [{ name: 'Agent', input: { depth: depth + 1 } }] }
  })
  // Created only for this list.
  const tools = [agent] as readonly AnyTool[]
  await runToEnd({ model, tools, prices, maxSubagentDepth: 5 }, onEvent, { prompt: '0' })
  const agents = to.spans().filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'invoke_agent')
  expect(Object.fromEntries(agents.map(({ name, attributes }) => [name, attributes['halting.agent.depth']]))).toEqual({
    'invoke_agent halting': 0,
    'invoke_agent level1': 1,
    'invoke_agent level2': 2,
    'invoke_agent level3': 3,
    'invoke_agent level4': 4,
    'invoke_agent level5': 5,
  })
  const lines = linesOf(treeOf(to.spans()))
  expect(lines.find((line) => line.endsWith('level5'))).toBe(`${'  '.repeat(15)}invoke_agent level5`)
})

test('keeps two sessions with separate listeners and shared providers apart', async () => {
  const [events, to, once] = [await eventsOfARun(), collector(), collector()]
  const [first, second] = [await listenerOf(to), await listenerOf(to)]
  const { onEvent } = await listenerOf(once)
  for (const event of events) {
    first.onEvent(event)
    second.onEvent(event)
    onEvent(event)
  }
  const traceOf = (span: ReadableSpan): string => span.spanContext().traceId
  const traces = [...new Set(to.spans().map(traceOf))]
  const trees = traces.map((trace) => linesOf(treeOf(to.spans().filter((span) => traceOf(span) === trace))))
  const tree = linesOf(treeOf(once.spans()))
  expect(trees).toEqual([tree, tree])
})

test('ends everything and throws nothing for two sessions with one listener', async () => {
  const events = await eventsOfARun()
  const to = collector()
  const problems: string[] = []
  const { onEvent, close } = await listenerOf(to, { onProblem: (message) => void problems.push(message) })
  const other = events.map((event): RunEvent =>
    event.type === 'run_start' ? { ...event, run: { ...event.run, sessionId: 'other', runId: 'run9' } } : event,
  )
  events.forEach((event, index) => {
    onEvent(event)
    const late = other[index - 5]
    if (late !== undefined) onEvent(late)
  })
  close()
  expect([problems, to.spans().filter(({ ended }) => !ended)]).toEqual([[], []])
  expect(unfinished(to)).toBeGreaterThan(0)
})

test('ends no span before its start when the clock goes backwards, and loses no measurement', async () => {
  const [events, forwards, backwards] = [await eventsOfARun(), collector(), collector()]
  let time = 1e12
  const [usual, odd] = [await listenerOf(forwards), await listenerOf(backwards, { now: () => (time -= 1000) })]
  for (const event of events) {
    usual.onEvent(event)
    odd.onEvent(event)
  }
  const ends = backwards.spans().map(({ startTime, endTime }) => endTime[0] - startTime[0] + endTime[1] - startTime[1])
  expect(Math.min(...ends)).toBeGreaterThanOrEqual(0)
  for (const name of ['halting.turn.duration', 'gen_ai.client.operation.duration', 'halting.run.duration']) {
    const counts = async (to: Collector) =>
      (await to.points(name)).map(({ attributes, count }) => ({ attributes, count }))
    expect(await counts(backwards)).toEqual(await counts(forwards))
  }
})

test('excludes invalid numbers from sums', async () => {
  const [events, to] = [await eventsOfARun(), collector()]
  const { onEvent } = await listenerOf(to)
  const usage = { input_tokens: NaN, output_tokens: -5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
  for (const event of events)
    onEvent(event.type === 'model_end' ? { ...event, usage, costUsd: Infinity, durationMs: NaN } : event)
  const tokens = await to.points('gen_ai.client.token.usage')
  const costs = await to.points('halting.cost')
  expect([...tokens, ...costs].filter(({ value }) => !Number.isFinite(value) || value < 0)).toEqual([])
})

test('exports all spans of a run with repeated ids and malformed names and texts', async () => {
  const broken = '\ud83d a name \udc00'
  const to = collector()
  const { onEvent } = await listenerOf(to, { content: true })
  const twice = {
    toolCalls: [
      { name: 'Look', id: broken, input: { path: broken } },
      { name: 'Breaks', id: broken, input: {} },
    ],
    text: broken,
  }
  const model = scriptedModel([twice, { ...twice, text: 'again' }, done], { id: broken })
  const { terminal } = await runToEnd({ model, tools: all, prices }, onEvent, { prompt: broken })
  expect(terminal.reason).toBe('completed')
  const statuses = to
    .spans()
    .filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'execute_tool')
    .map(({ name, status }) => [name, status.code === SpanStatusCode.ERROR])
  expect(statuses).toEqual([
    ['execute_tool Look', false],
    ['execute_tool Breaks', true],
    ['execute_tool Look', false],
    ['execute_tool Breaks', true],
  ])
})
