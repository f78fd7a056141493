// Tests `toAgUiEvents`: every event fits the schema of AG-UI 1.0, and everything that begins ends.
import { EventSchemas } from '@ag-ui/core/schemas'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RunOptions } from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { toAgUiEvents, toSse, type AgUiEvent } from '../../src/ui/index.ts'
import { calls, reader, subagent, tool } from '../support/harness.ts'
import { collected, started } from './support.ts'

const options = (replies: readonly ScriptedReply[], more: Partial<RunOptions> = {}): RunOptions => ({
  model: scriptedModel(replies),
  clock: createFakeClock({ autoAdvance: true }),
  tools: [
    reader('Look', 'seen'),
    tool('Fail', () => {
      throw new Error('no luck')
    }),
  ],
  ...more,
})

const eventsOf = (runOptions: RunOptions): Promise<readonly AgUiEvent[]> =>
  collected(toAgUiEvents(started(runOptions).run))

/** The problems of events: by the schema, and where something does not end or begins twice. */
function problemsIn(events: readonly AgUiEvent[]): readonly string[] {
  const open = new Set<string>()
  const used = new Set<string>()
  const problems: string[] = []
  const demand = (isTrue: boolean, event: AgUiEvent): void => void (isTrue || problems.push(JSON.stringify(event)))
  const begins = (id: string, event: AgUiEvent): void => {
    demand(!used.has(id), event)
    used.add(id)
    open.add(id)
  }
  for (const event of events) {
    demand(EventSchemas.safeParse(JSON.parse(JSON.stringify(event))).success, event)
    const id = 'messageId' in event ? event.messageId : 'toolCallId' in event ? event.toolCallId : ''
    switch (event.type) {
      case 'TEXT_MESSAGE_START':
      case 'REASONING_START':
      case 'TOOL_CALL_START':
        begins(id, event)
        break
      case 'TEXT_MESSAGE_CONTENT':
      case 'REASONING_MESSAGE_CONTENT':
      case 'TOOL_CALL_ARGS':
        demand(open.has(id) && event.delta !== '', event)
        break
      case 'TEXT_MESSAGE_END':
      case 'REASONING_END':
      case 'TOOL_CALL_END':
        demand(open.delete(id), event)
        break
      case 'TOOL_CALL_RESULT':
        demand(used.has(event.toolCallId), event)
        break
      case 'STEP_STARTED':
        begins(event.stepName, event)
        break
      case 'STEP_FINISHED':
        demand(open.delete(event.stepName), event)
        break
      default:
        break
    }
  }
  const isFramed = events[0]?.type === 'RUN_STARTED' && /^RUN_(FINISHED|ERROR)$/.test(events.at(-1)?.type ?? '')
  return [...problems, ...open, ...(isFramed ? [] : ['not framed'])]
}

test('the checks of this test detect problems', () => {
  const started = { type: 'RUN_STARTED', threadId: 't', runId: 'r', protocolVersion: '1.0' } as const
  const text = { type: 'TEXT_MESSAGE_CONTENT', messageId: 'a', delta: 'x' } as const
  expect(problemsIn([started, text]).length).toBe(2)
  expect(
    problemsIn([
      { ...started, threadId: 1 as never },
      { type: 'RUN_ERROR', message: 'm', code: 'c', usage: [] },
    ]).length,
  ).toBe(1)
})

const typesOf = (events: readonly AgUiEvent[]): string =>
  events
    .filter((event) => event.type !== 'CUSTOM' || event.name !== 'halting.figures')
    .map((event) => (event.type === 'CUSTOM' ? event.name : event.type))
    .join(' ')

describe('a run as AG-UI events', () => {
  test('has messages, reasoning, calls with their arguments and results, and the ending', async () => {
    const events = await eventsOf(
      options([{ thinking: 'Hm.', text: 'I look.', toolCalls: [{ name: 'Look', input: { at: 'a' } }] }, 'A door.']),
    )
    expect(problemsIn(events)).toEqual([])
    expect(typesOf(events)).toBe(
      [
        'RUN_STARTED STEP_STARTED REASONING_START REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT',
        'REASONING_MESSAGE_END REASONING_END TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END',
        'TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_ARGS TOOL_CALL_END halting.reply TOOL_CALL_RESULT STEP_FINISHED',
        'STEP_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END halting.reply STEP_FINISHED',
        'halting.ending RUN_FINISHED',
      ].join(' '),
    )
    const json = events.map((event) => (event.type === 'TOOL_CALL_ARGS' ? event.delta : '')).join('')
    expect(JSON.parse(json)).toEqual({ at: 'a' })
    expect(events.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({ content: 'seen' })
    expect(events.at(-1)).toMatchObject({
      outcome: { type: 'success' },
      result: { reason: 'completed', turns: 2 },
      usage: [{ model: 'scripted', inputTokens: 20, outputTokens: 10 }],
    })
  })

  test('lists its calls as interrupts when it ends to be approved', async () => {
    const permissions = { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May it?' }) as const }
    const events = await eventsOf(options([calls('Look')], { permissions }))
    expect(problemsIn(events)).toEqual([])
    const interrupt = { id: 'call_0_0', reason: 'tool_call', message: 'May it?', toolCallId: 'call_0_0' }
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'interrupt', interrupts: [interrupt] } })
  })

  test('is an error when it failed, and cancelled when it was aborted', async () => {
    const error = { kind: 'invalid_request', message: 'bad', status: 400, retryable: false } as const
    const failed = await eventsOf(options([{ error }]))
    expect(problemsIn(failed)).toEqual([])
    expect(failed.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'model_error' })
    expect(JSON.stringify(failed)).not.toContain('bad')
    const { run } = started(options([{ hang: true, text: 'Half' }]))
    const aborted: AgUiEvent[] = []
    for await (const event of toAgUiEvents(run) as unknown as AsyncIterable<AgUiEvent>) {
      aborted.push(event)
      if (event.type === 'TEXT_MESSAGE_CONTENT') run.abort('user')
    }
    expect(problemsIn(aborted)).toEqual([])
    expect(aborted.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  })

  test('includes its subagents', async () => {
    const events = await eventsOf(options([calls('Agent'), 'sub done', 'done'], { tools: [subagent] }))
    expect(problemsIn(events)).toEqual([])
    expect(typesOf(events)).toContain('SUBAGENT_STARTED')
    expect(typesOf(events)).toContain('SUBAGENT_FINISHED')
  })

  test('fits the schema, whatever models and tools do', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 8 })
    const name = fc.constantFrom('Look', 'Fail', 'None', '')
    const reply = fc.record({
      thinking: fc.option(text, { nil: undefined }),
      text: fc.option(text, { nil: undefined }),
      toolCalls: fc.array(fc.record({ name, input: fc.dictionary(text, fc.jsonValue()) }), { maxLength: 3 }),
      streamError: fc.option(fc.constant({ kind: 'connection', message: 'cut', retryable: true } as const), {
        nil: undefined,
      }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(reply, { maxLength: 4 }), async (replies) => {
        expect(problemsIn(await eventsOf(options([...(replies as readonly ScriptedReply[]), 'end'])))).toEqual([])
      }),
      { numRuns: 60 },
    )
  })

  test('can be written as server-sent events', async () => {
    const bytes = await collected(toSse(toAgUiEvents(started(options(['Hi'])).run)))
    const lines = Buffer.concat(bytes).toString().trim().split('\n\n')
    expect(lines.every((line) => line.startsWith('data: {'))).toBe(true)
    expect(problemsIn(lines.map((line) => JSON.parse(line.slice('data: '.length)) as AgUiEvent))).toEqual([])
  })
})
