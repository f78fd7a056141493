// The spans of a run as a tree, compared with its record.
import { SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import {
  CallableHook,
  ConfigurationError,
  streamRun,
  resume,
  startRun,
  type AgentTool,
  type AnyTool,
  type RunEvent,
  type ModelRequest,
  type Tool,
} from '@halting/core'
import { createMemorySteps } from '@halting/core/steps'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { accountOf } from '@halting/analysis'
import { expect, test } from 'vitest'
import { telemetry } from '../src/index.ts'
import { collector, linesOf, listenerOf, prices, runToEnd, treeOf } from './support.ts'

const look: Tool = {
  name: 'Look',
  description: 'looks',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => 'seen',
}
const breaks: Tool = {
  ...look,
  name: 'Breaks',
  execute() {
    throw new Error('it is broken: sk-ant-api03-abcdefghijkl')
  },
}
const agent: AgentTool<{ readonly prompt: string }> = {
  name: 'Agent',
  description: 'a subagent',
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: ({ prompt }) => ({ prompt, agentType: 'scout' }),
}
// Created only for this list.
const tools = [look, breaks, agent] as readonly AnyTool[]
const usage = { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: 90 }
const calls = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name) => ({ name, input: name === 'Agent' ? { prompt: 'sub' } : {} })),
  usage,
})
const answer: ScriptedReply = { text: 'done', usage }

/** Chooses a model by the first message of the request. */
const byPrompt =
  (scripts: { readonly [prompt: string]: readonly ScriptedReply[] }) =>
  ({ messages }: ModelRequest): ScriptedReply => {
    const first = messages[0]?.content
    const turn = messages.filter(({ role }) => role === 'assistant').length
    return scripts[typeof first === 'string' ? first : '']?.[turn] ?? answer
  }

const spansOf = (spans: readonly ReadableSpan[], operation: string) =>
  spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === operation)

test('exports a run as a tree: turns, attempts, concurrent calls, and subagents below their calls', async () => {
  const to = collector()
  const { onEvent } = await listenerOf(to)
  const model = scriptedModel(
    byPrompt({ go: [calls('Look', 'Breaks', 'Agent'), answer], sub: [calls('Look'), answer] }),
    {
      id: 'claude-test',
    },
  )
  const hooks = [new CallableHook(() => {}, { triggers: ['afterToolUse'], id: 'watch', tools: ['Breaks'] })]
  const { terminal, steps } = await runToEnd({ model, tools, hooks, prices }, onEvent)
  expect(linesOf(treeOf(to.spans()))).toEqual([
    'invoke_agent halting',
    '  halting.turn',
    '    chat claude-test',
    '    execute_tool Look',
    '    execute_tool Breaks',
    '      halting.hook watch',
    '    execute_tool Agent',
    '      invoke_agent scout',
    '        halting.turn',
    '          chat claude-test',
    '          execute_tool Look',
    '        halting.turn',
    '          chat claude-test',
    '  halting.turn',
    '    chat claude-test',
  ])
  const [root] = to.spans().filter(({ parentSpanContext }) => parentSpanContext === undefined)
  expect(root?.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'anthropic',
    'halting.terminal.reason': 'completed',
    'halting.stop.category': 'completed',
    'halting.cost.usd': terminal.costUsd,
    'halting.turns': 2,
  })
  expect(root?.events.map(({ name }) => name)).toEqual(['halting.lap', 'halting.ending'])
  const { totals } = accountOf(steps.records)
  const attempts = spansOf(to.spans(), 'chat')
  expect(attempts).toHaveLength(totals.requests)
  expect(attempts[0]?.attributes).toMatchObject({
    'gen_ai.usage.input_tokens': 97,
    'gen_ai.usage.output_tokens': 3,
    'gen_ai.usage.cache_read.input_tokens': 90,
    'gen_ai.response.finish_reasons': ['tool_use'],
    'halting.cost.usd': 100,
  })
})

test('gives failures an error status, without any text of the conversation', async () => {
  const to = collector()
  const { onEvent } = await listenerOf(to)
  const script: readonly ScriptedReply[] = [
    { error: { kind: 'overloaded', message: 'busy sk-ant-api03-secretsecret', status: 529 } },
    calls('Breaks', 'Nothing'),
    { error: { kind: 'invalid_request', message: 'no', status: 400 } },
  ]
  const { terminal } = await runToEnd({ model: scriptedModel(script), tools, prices }, onEvent, {
    prompt: 'my own words',
  })
  expect(terminal.reason).toBe('model_error')
  const failed = to
    .spans()
    .flatMap(({ name, status, attributes }) =>
      status.code === SpanStatusCode.ERROR ? [[name, attributes['error.type']]] : [],
    )
  expect(failed).toEqual([
    ['chat scripted', 'overloaded'],
    ['execute_tool Breaks', 'failed'],
    ['execute_tool Nothing', 'invalid'],
    ['chat scripted', 'invalid_request'],
    ['invoke_agent halting', expect.any(String)],
  ])
  const all = JSON.stringify(to.spans().map(({ attributes, events, status }) => [attributes, events, status]))
  expect(all).not.toMatch(/my own words|it is broken|sk-ant/)
  expect(all).toContain('busy [REDACTED]')
})

test('exports prompts, replies, inputs and results with content, redacted and truncated', async () => {
  const to = collector()
  const { onEvent } = await listenerOf(to, { content: true, maxCharacters: 300 })
  const long: ScriptedReply = { text: `key sk-ant-api03-abcdefghijkl ${'long '.repeat(1_000)}`, usage }
  await runToEnd({ model: scriptedModel([calls('Look'), long]), tools, prices }, onEvent, { prompt: 'my own words' })
  const [root] = spansOf(to.spans(), 'invoke_agent')
  expect(root?.attributes['gen_ai.input.messages']).toBe(
    '[{"role":"user","parts":[{"type":"text","content":"my own words"}]}]',
  )
  const [call] = spansOf(to.spans(), 'execute_tool')
  expect(call?.attributes).toMatchObject({ 'gen_ai.tool.call.arguments': '{}', 'gen_ai.tool.call.result': 'seen' })
  const said = String(spansOf(to.spans(), 'chat').at(-1)?.attributes['gen_ai.output.messages'])
  expect(said).toContain('key [REDACTED] long')
  expect(said.length).toBeLessThan(400)
  expect(JSON.parse(said)).toEqual([
    {
      role: 'assistant',
      parts: [{ type: 'text', content: expect.stringMatching(/^key \[REDACTED\] long .*… \(5015 characters\)$/) }],
      finish_reason: 'end_turn',
    },
  ])
})

test('exports all submitted prompts in order, as JSON up to its limit', async () => {
  const to = collector()
  const { onEvent } = await listenerOf(to, { content: { prompts: true }, maxCharacters: 200 })
  const clock = createFakeClock({ autoAdvance: true })
  const words = ['second', 'third '.repeat(100), 'fourth', 'fifth']
  const steering: Tool = {
    ...look,
    execute() {
      const next = words.shift()
      if (next !== undefined) running.steer(next)
      return 'seen'
    },
  }
  const model = scriptedModel([calls('Look'), calls('Look'), calls('Look'), calls('Look'), answer])
  const options = { model, tools: [steering], prices, clock, steps: createMemorySteps({ clock }) }
  const running = streamRun(startRun({ prompt: 'first' }), options)
  for await (const event of running) onEvent(event)
  const [root] = spansOf(to.spans(), 'invoke_agent')
  // The conventions require a string.
  const said = JSON.parse(String(root?.attributes['gen_ai.input.messages'])) as readonly {
    readonly parts: readonly { readonly content: string }[]
  }[]
  expect(said.map(({ parts }) => parts.map(({ content }) => content.slice(0, 6)))).toEqual([
    ['first'],
    ['second'],
    ['… (600'],
  ])
})

test('exports recorded steps of a resumed run only once', async () => {
  const whole = collector()
  const script = [calls('Look'), calls('Look'), answer]
  const { steps } = await runToEnd({ model: scriptedModel(script), tools, prices }, (await listenerOf(whole)).onEvent)
  for (let kept = 1; kept < steps.records.length; kept++) {
    const records = steps.records.slice(0, kept)
    const to = collector()
    const { onEvent } = await listenerOf(to, { sessionId: 'session' })
    const asked = records.filter((record) => record.type === 'result' && record.key.includes('model:')).length
    const model = scriptedModel(script.slice(asked))
    const { loop } = resume(records, { model, tools, prices, clock: createFakeClock({ autoAdvance: true }) })
    for await (const event of loop) onEvent(event)
    const chats = spansOf(to.spans(), 'chat').filter(({ attributes }) => attributes['halting.outcome'] !== 'unknown')
    expect(chats).toHaveLength(model.requests.length)
    const [root] = spansOf(to.spans(), 'invoke_agent')
    expect(root?.attributes).toMatchObject({
      'halting.run.resumed': true,
      'gen_ai.conversation.id': 'session',
      'gen_ai.request.model': 'scripted',
      'gen_ai.provider.name': 'unknown',
    })
    const used = await to.points('gen_ai.client.token.usage')
    expect(used.reduce((sum, { value }) => sum + value, 0)).toBe(100 * model.requests.length)
  }
})

test('accepts a parent as a header, and provides headers for programs started by calls', async () => {
  const to = collector()
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const listener = await listenerOf(to, { parent: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } })
  const headers: (string | undefined)[] = []
  const waitingTool: Tool = {
    ...look,
    async execute(_input, { callId }) {
      await new Promise((resolve) => void setTimeout(resolve))
      headers.push(listener.traceparentOf(callId))
      return 'done'
    },
  }
  await runToEnd({ model: scriptedModel([calls('Look'), answer]), tools: [waitingTool], prices }, listener.onEvent)
  const [call] = spansOf(to.spans(), 'execute_tool')
  expect(headers).toEqual([`00-${traceId}-${call?.spanContext().spanId}-01`])
  expect(new Set(to.spans().map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]))
})

test('exports nothing without a provider; a provider that throws ends no run and is reported once', async () => {
  const off = await telemetry()
  expect([off.traceparentOf('a'), off.onEvent({ type: 'notice', message: 'x' })]).toEqual([undefined, undefined])
  const problems: string[] = []
  const throwing = {
    getTracer: () => ({
      startSpan() {
        throw new Error('no spans today')
      },
    }),
  }
  const { onEvent } = await telemetry({
    // As a program in plain JavaScript may pass it.
    tracerProvider: throwing as unknown as NonNullable<Parameters<typeof telemetry>[0]>['tracerProvider'],
    onProblem: (message) => void problems.push(message),
  })
  const { terminal } = await runToEnd({ model: scriptedModel([calls('Look'), answer]), tools, prices }, onEvent)
  expect(terminal.reason).toBe('completed')
  expect(problems).toEqual(['Telemetry failed; the run continues: no spans today'])
  expect(ConfigurationError).toBeDefined()
})

test('ends every span, even if the session is abandoned in the middle', async () => {
  const to = collector()
  const listener = await listenerOf(to)
  const events: RunEvent[] = []
  await runToEnd({ model: scriptedModel([calls('Look'), answer]), tools, prices }, (event) => void events.push(event))
  const until = events.findIndex(({ type }) => type === 'tool_start')
  for (const event of events.slice(0, until + 1)) listener.onEvent(event)
  listener.close()
  expect(to.spans().map(({ name, attributes }) => [name, attributes['halting.unfinished'] === true])).toEqual([
    ['chat scripted', false],
    ['execute_tool Look', true],
    ['halting.turn', true],
    ['invoke_agent halting', true],
  ])
})
