// Whichever phase a run ends in: every span ends with a reason, and only failures have an error status.
import { SpanStatusCode } from '@opentelemetry/api'
import {
  CallableHook,
  streamRun,
  startRun,
  type AgentTool,
  type AnyTool,
  type RunEvent,
  type RunOptions,
  type Tool,
} from '@halting/core'
import { createMemorySteps } from '@halting/core/steps'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { expect, test } from 'vitest'
import { collector, listenerOf, prices, type Collector } from './support.ts'

const usage = { input_tokens: 7, output_tokens: 3 }
const calls = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name) => ({ name, input: {} })),
  usage,
})
const look = (execute: Tool['execute'], readOnly = true): Tool => ({
  name: 'Look',
  description: 'looks',
  inputSchema: { type: 'object' },
  readOnly,
  execute,
})

type Status = 'ok' | 'error'

/** For each span: its name, its kind of error and its status. */
function statusesOf(to: Collector): readonly (readonly [string, unknown, Status])[] {
  return to
    .spans()
    .map(({ name, attributes, status }) => [
      name,
      attributes['error.type'] ?? attributes['halting.unfinished'],
      status.code === SpanStatusCode.ERROR ? 'error' : 'ok',
    ])
}

const isOfType =
  (type: RunEvent['type']) =>
  (event: RunEvent): boolean =>
    event.type === type

/** A run that is aborted at this event. */
async function aborted(
  isTheMoment: (event: RunEvent) => boolean,
  given: Omit<RunOptions, 'steps' | 'clock' | 'signal'>,
): Promise<{ readonly reason: string; readonly to: Collector }> {
  const to = collector()
  const { onEvent } = await listenerOf(to)
  const controller = new AbortController()
  const clock = createFakeClock()
  const options = { ...given, prices, clock, steps: createMemorySteps({ clock }), signal: controller.signal }
  const running = streamRun(startRun({ prompt: 'go' }), options)
  for await (const event of running) {
    onEvent(event)
    if (isTheMoment(event)) controller.abort()
  }
  return { reason: (await running.result).reason, to }
}

test('marks an attempt as aborted, not failed, when the run is aborted during a reply', async () => {
  const { reason, to } = await aborted(isOfType('model_update'), {
    model: scriptedModel([{ hang: true, text: 'I begin' }]),
  })
  expect(reason).toBe('aborted_streaming')
  expect(statusesOf(to)).toEqual([
    ['chat scripted', 'aborted', 'ok'],
    ['halting.turn', undefined, 'ok'],
    ['invoke_agent halting', undefined, 'ok'],
  ])
})

test('marks a call as interrupted, not failed, when the run is aborted during a tool', async () => {
  const { reason, to } = await aborted(isOfType('tool_running'), {
    model: scriptedModel([calls('Look')]),
    tools: [
      look(
        (_input, { signal }) =>
          new Promise((_done, stop) => {
            signal.addEventListener('abort', () => stop(signal.reason))
          }),
        false,
      ),
    ],
  })
  expect(reason).toBe('aborted_tools')
  expect(statusesOf(to)).toEqual([
    ['chat scripted', undefined, 'ok'],
    ['execute_tool Look', 'interrupted', 'ok'],
    ['halting.turn', undefined, 'ok'],
    ['invoke_agent halting', undefined, 'ok'],
  ])
})

test('ends hook and call when the run is aborted during a hook before a tool', async () => {
  const { reason, to } = await aborted(isOfType('hook_start'), {
    model: scriptedModel([calls('Look')]),
    tools: [look(() => 'seen')],
    hooks: [
      new CallableHook(() => new Promise((done) => void setTimeout(done)), {
        triggers: ['beforeToolUse'],
        id: 'slow',
      }),
    ],
  })
  expect(reason).toBe('aborted_tools')
  expect(statusesOf(to)).toEqual([
    ['chat scripted', undefined, 'ok'],
    ['halting.hook slow', undefined, 'ok'],
    ['execute_tool Look', 'interrupted', 'ok'],
    ['halting.turn', undefined, 'ok'],
    ['invoke_agent halting', undefined, 'ok'],
  ])
})

test('records the outcomes of an abort before a retry: a failed attempt, an aborted one, and no failed run', async () => {
  const { reason, to } = await aborted(isOfType('retry'), {
    model: scriptedModel([{ error: { kind: 'overloaded', message: 'busy', status: 529 } }, { hang: true }]),
  })
  expect(reason).toBe('aborted_streaming')
  expect(statusesOf(to)).toEqual([
    ['chat scripted', 'overloaded', 'error'],
    ['chat scripted', 'aborted', 'ok'],
    ['halting.turn', undefined, 'ok'],
    ['invoke_agent halting', undefined, 'ok'],
  ])
})

test("ends nested spans from the innermost on when the run is aborted during a subagent's request", async () => {
  const agent: AgentTool = {
    name: 'Agent',
    description: 'a subagent',
    inputSchema: { type: 'object' },
    readOnly: true,
    spawn: () => ({ prompt: 'sub', agentType: 'scout' }),
  }
  const { reason, to } = await aborted((event) => event.type === 'agent' && event.event.type === 'model_update', {
    model: scriptedModel(({ messages }) =>
      messages[0]?.content === 'go' ? calls('Agent') : { hang: true, text: 'I begin' },
    ),
    // Created only for this list.
    tools: [agent] as readonly AnyTool[],
  })
  expect(reason).toBe('aborted_tools')
  expect(statusesOf(to)).toEqual([
    ['chat scripted', undefined, 'ok'],
    ['chat scripted', 'aborted', 'ok'],
    ['halting.turn', undefined, 'ok'],
    ['invoke_agent scout', undefined, 'ok'],
    ['execute_tool Agent', 'interrupted', 'ok'],
    ['halting.turn', undefined, 'ok'],
    ['invoke_agent halting', undefined, 'ok'],
  ])
})

test('reports a request that exceeds the budget as an ending, not an error', async () => {
  const to = collector()
  const { onEvent } = await listenerOf(to)
  const clock = createFakeClock({ autoAdvance: true })
  const model = scriptedModel([calls('Look'), calls('Look')], { maxOutputTokens: 50 })
  const running = streamRun(startRun({ prompt: 'go' }), {
    model,
    tools: [look(() => 'seen')],
    prices,
    maxBudgetUsd: 120,
    minUsefulTokens: 50,
    clock,
    steps: createMemorySteps({ clock }),
  })
  for await (const event of running) onEvent(event)
  expect((await running.result).reason).toBe('max_budget_usd')
  expect(statusesOf(to).filter(([, error, status]) => error !== undefined || status === 'error')).toEqual([
    ['chat scripted', 'over_budget', 'ok'],
  ])
})

test('ends open spans on close after a consumer leaves during a turn, and traces the next run separately', async () => {
  const to = collector()
  const { onEvent, close } = await listenerOf(to)
  const clock = createFakeClock({ autoAdvance: true })
  const running = streamRun(startRun({ prompt: 'go' }), {
    model: scriptedModel([calls('Look'), calls('Look'), 'done']),
    tools: [look(() => 'seen')],
    prices,
    clock,
    steps: createMemorySteps({ clock }),
  })
  for await (const event of running) {
    onEvent(event)
    if (event.type === 'tool_start') break
  }
  expect((await running.result).reason).toBe('abandoned')
  close()
  expect(statusesOf(to)).toEqual([
    ['chat scripted', undefined, 'ok'],
    ['execute_tool Look', true, 'ok'],
    ['halting.turn', true, 'ok'],
    ['invoke_agent halting', true, 'ok'],
  ])
  const before = new Set(to.spans().map((span) => span.spanContext().traceId))
  const next = streamRun(startRun({ prompt: 'go' }), {
    model: scriptedModel(['done']),
    prices,
    clock,
    steps: createMemorySteps({ clock }),
  })
  for await (const event of next) onEvent(event)
  expect(new Set(to.spans().map((span) => span.spanContext().traceId)).size).toBe(before.size + 1)
})
