// Holds rules of docs/spec: R-PAUSE-13.
import type { RequestPermissionRequest } from '@agentclientprotocol/sdk'
import { describe, expect, test } from 'vitest'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { limitQuestion, limitReason } from '../../src/frontends/limit-question.ts'
import { startAgent } from '../support/acp-agent.ts'

const reads = (count: number): readonly ScriptedReply[] => [
  ...Array.from({ length: count }, (_, index) => ({
    toolCalls: [{ id: `r${index}`, name: 'Read', input: { file_path: 'a.txt', offset: index + 1 } }],
  })),
  'Done.',
]
const options = { maxTurns: 2, onLimit: 'pause' } as const

test('offers each higher limit as an option, and continues when one is chosen', async () => {
  const asked: RequestPermissionRequest[] = []
  const { newSession, prompt, updates, wire } = await startAgent({
    model: scriptedModel(reads(3)),
    options,
    permission(question) {
      asked.push(question)
      return { outcome: { outcome: 'selected', optionId: 'raise:4' } }
    },
  })
  const { sessionId } = await newSession()
  expect(await prompt(sessionId, 'Read')).toMatchObject({ stopReason: 'end_turn' })
  expect(asked).toMatchObject([
    {
      toolCall: { title: 'Raise the turn limit of this run?', kind: 'other' },
      options: [
        { optionId: 'raise:3', kind: 'allow_once', name: 'Raise to 3 turns' },
        { optionId: 'raise:4', kind: 'allow_once', name: 'Raise to 4 turns' },
        { optionId: 'end', kind: 'reject_once', name: 'Stop here' },
      ],
    },
  ])
  const ofLimit = updates().filter(({ toolCallId }) => String(toolCallId).startsWith('halting-limit-'))
  expect(ofLimit).toMatchObject([
    { sessionUpdate: 'tool_call', content: [{ content: { text: '2 turns of 2 turns used.' } }] },
    { sessionUpdate: 'tool_call_update', status: 'completed' },
  ])
  expect(wire.problems).toEqual([])
})

test.each([
  ['End here', { outcome: { outcome: 'selected', optionId: 'end' } } as const],
  ['no answer', { outcome: { outcome: 'cancelled' } } as const],
  ['an option that nobody offered', { outcome: { outcome: 'selected', optionId: 'raise:9000' } } as const],
])('%s ends the run at the limit', async (_what, answer) => {
  const { newSession, prompt } = await startAgent({ model: scriptedModel(reads(3)), options, permission: () => answer })
  const { sessionId } = await newSession()
  expect(await prompt(sessionId, 'Read')).toMatchObject({ stopReason: 'max_turn_requests' })
})

test('a cancel during the question ends the run', async () => {
  let cancel: () => Promise<void> = async () => undefined
  const started = await startAgent({
    model: scriptedModel(reads(3)),
    options,
    async permission(_question, signal) {
      await cancel()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { outcome: { outcome: 'cancelled' } }
    },
  })
  const { sessionId } = await started.newSession()
  cancel = () => started.agent.notify('session/cancel', { sessionId })
  expect(await started.prompt(sessionId, 'Read')).toMatchObject({ stopReason: 'cancelled' })
})

test('the question times out, even if the client ignores its withdrawal', async () => {
  const started = await startAgent({
    model: scriptedModel(reads(3)),
    options: { ...options, pauseForMs: 50 },
    permission: () => new Promise(() => undefined),
  })
  const { sessionId } = await started.newSession()
  expect(await started.prompt(sessionId, 'Read')).toMatchObject({ stopReason: 'max_turn_requests' })
  const ofLimit = started.updates().filter(({ toolCallId }) => String(toolCallId).startsWith('halting-limit-'))
  expect(ofLimit).toMatchObject([{ status: 'pending' }, { sessionUpdate: 'tool_call_update', status: 'failed' }])
})

describe('an editor with forms', () => {
  const capabilities = { elicitation: { form: {} } }
  const atTwo = { id: 'q', used: 2, of: 2, most: null, offers: [], message: '', sinceMs: 0, untilMs: null }

  /** Answers the forms in turn; returns the stop reason and the messages of the forms. */
  async function answerLimits(...contents: readonly (Record<string, string> | undefined)[]) {
    const asked: string[] = []
    const { newSession, prompt, wire } = await startAgent({
      model: scriptedModel(reads(3)),
      options,
      capabilities,
      elicitation({ message }) {
        const content = contents[asked.length]
        asked.push(message)
        return content === undefined ? { action: 'cancel' } : { action: 'accept', content }
      },
    })
    const { sessionId } = await newSession()
    const { stopReason } = await prompt(sessionId, 'Read')
    expect(wire.problems).toEqual([])
    return { stopReason, asked }
  }

  test.each([
    ['an offer', { choice: 'raise:4' }, 'end_turn'],
    ['another value', { choice: 'end', other: '12' }, 'end_turn'],
    ['the end', { choice: 'end' }, 'max_turn_requests'],
    ['nothing', {}, 'max_turn_requests'],
    ['no answer', undefined, 'max_turn_requests'],
  ])('is asked about a limit with a form: %s', async (_what, content, stopReason) => {
    expect(await answerLimits(content)).toEqual({
      stopReason,
      asked: [`${limitQuestion({ limit: 'maxTurns' })} ${limitReason({ ...atTwo, limit: 'maxTurns' })}`],
    })
  })

  test('is asked again for an invalid value, three times in all', async () => {
    const { stopReason, asked } = await answerLimits({ other: 'many' }, { other: '2' }, { other: '4' })
    expect([stopReason, asked.length]).toEqual(['end_turn', 3])
    expect(asked[1]).toContain('Give a whole number')
    expect((await answerLimits({ other: 'a' }, { other: 'b' }, { other: 'c' }, { other: '4' })).asked).toHaveLength(3)
  })
})
