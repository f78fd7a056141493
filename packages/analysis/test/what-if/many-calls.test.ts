// Sessions are untrusted: the work for a message must be proportional to its size. Each of these took minutes or overflowed the stack.
import { expect, test } from 'vitest'
import { streamRun, startRun, tool } from '@halting/core'
import { createMemorySteps } from '@halting/core/steps'
import { recordsOfForeign, type ForeignRun } from '../../src/foreign/foreign-run.ts'
import { createFakeClock, scriptedModel } from '@halting/core/testing'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { trajectoryOfForeign } from '../../src/what-if/foreign-trajectory.ts'

const prices = { cost: () => 0.01, worstCase: () => undefined }
const many = 30_000

const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const ids = Array.from({ length: many }, (_, index) => `call-${index}`)
const run: ForeignRun = {
  run: { runId: 'run1', sessionId: 'session', agentPath: '', depth: 0 },
  prompts: [],
  turns: [
    {
      message: {
        role: 'assistant',
        id: 'm',
        model: 'm',
        usage,
        stop_reason: 'tool_use',
        content: ids.map((id) => ({ type: 'tool_use', id, name: 'Read', input: {} })),
      },
      beganMs: 0,
      endedMs: 1,
      results: ids.map((callId, index) => ({ callId, content: '', isError: false, endedMs: index + 2 })),
      agentRequests: [],
      laterMessages: Array.from({ length: 200_000 }, () => ({ origin: 'loop', content: 'So.' })),
    },
  ],
  ending: null,
}

test('a message with very many calls, followed by as many messages, is handled quickly', () => {
  const { records } = recordsOfForeign(run, prices)
  const { turns } = trajectoryOf(records)
  expect(turns).toEqual(trajectoryOfForeign(run, prices).trajectory.turns)
  expect(turns[0]?.calls.map(({ endMs }) => endMs)).toEqual(ids.map((_, index) => index + 2))
})

test('a call ends when its own tool ended, also where its id is the suffix of another one', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const taking = (name: string, ms: number) =>
    tool({
      name,
      description: '',
      execute: () => new Promise<string>((resolve) => void clock.after(ms, () => resolve('done'))),
    })
  const toolCalls = [
    { id: 'a:b', name: 'Slow' },
    { id: 'b', name: 'Fast' },
    { id: 'b/asked', name: 'Slow' },
  ]
  const steps = createMemorySteps({ clock })
  await streamRun(startRun({ prompt: 'go' }), {
    model: scriptedModel([{ toolCalls }, { text: 'done' }]),
    tools: [taking('Slow', 500), taking('Fast', 20)],
    steps,
  }).result
  const [turn] = trajectoryOf(steps.records).turns
  expect(turn?.calls.map(({ tool: name, endMs }) => [name, endMs])).toEqual([
    ['Slow', 500],
    ['Fast', 520],
    ['Slow', 1_020],
  ])
})
