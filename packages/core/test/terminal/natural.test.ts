import { describe, expect, test } from 'vitest'
import { AgentStopException, endings, StopSignal } from '../../src/index.ts'
import { FinishReasonHook, InMemoryCancellationSource } from '../../src/compat/index.ts'
import { ask } from '../support/engine.ts'
import { calls, hook, reader, tool } from '../support/harness.ts'
import { expectEnding } from './ending.ts'
import { table } from './table.ts'

test('the table of endings matches spec R-END-1, row by row', () => {
  const rows = Object.entries(endings).map(
    ([reason, { category, manner, toolResults, subtype, exitCode, nextRound }]) => [
      reason,
      { category, manner, toolResults, subtype, exitCode, nextRound },
    ],
  )
  expect(Object.fromEntries(rows)).toEqual(table)
})

describe('graceful endings', () => {
  test('terminal: completed', async () => {
    const outcome = await ask([calls('Look'), 'the answer'], { tools: [reader('Look')] })
    expectEnding(outcome, 'completed', {
      message: 'The model gave its answer',
      source: 'loop',
      results: ['read'],
      result: 'the answer',
    })
  })

  test('terminal: finish_reason', async () => {
    const outcome = await ask([{ text: 'the answer', stopReason: 'stop_sequence' }], {
      stopWhen: new FinishReasonHook(['stop_sequence']),
    })
    expectEnding(outcome, 'finish_reason', {
      message: 'Finish reason received: stop_sequence',
      source: 'FinishReasonHook',
      context: { finishReason: 'stop_sequence' },
      result: 'the answer',
    })
  })

  test('terminal: stop_requested, with results of completed siblings and "not run" for the others', async () => {
    const submit = tool('Submit', () => {
      throw new AgentStopException({
        signal: new StopSignal({
          reason: 'stop_requested',
          message: 'Answer submitted: 42',
          source: 'SubmitAnswerTool',
        }),
      })
    })
    const outcome = await ask([{ text: 'submitting', ...calls('Look', 'Submit', 'Write') }], {
      tools: [reader('Look'), submit, tool('Write')],
    })
    expectEnding(outcome, 'stop_requested', {
      message: 'Answer submitted: 42',
      source: 'SubmitAnswerTool',
      results: ['read', 'Answer submitted: 42', '!Not run: the run stopped before this call'],
      result: 'submitting',
    })
  })

  test('terminal: hook_stopped', async () => {
    const stop = hook('afterToolUse', (context) => context.withContinuationPrevented('seen enough'), { id: 'watch' })
    const outcome = await ask([{ text: 'looking', ...calls('Look', 'Look') }], {
      tools: [reader('Look')],
      hooks: [stop],
    })
    expectEnding(outcome, 'hook_stopped', {
      message: 'seen enough',
      source: 'watch',
      context: { hook: 'watch' },
      attachments: [{ type: 'hook_stopped_continuation', hook: 'watch', message: 'seen enough', callId: 'call_0_0' }],
      results: ['read', 'read'],
      result: 'looking',
    })
  })

  test('terminal: stop_hook_prevented', async () => {
    const outcome = await ask([calls('Look'), 'the answer'], {
      tools: [reader('Look')],
      stopHooks: [{ id: 'gate', handle: () => ({ prevent: 'closed for today' }) }],
    })
    expectEnding(outcome, 'stop_hook_prevented', {
      message: 'closed for today',
      source: 'gate',
      context: { hook: 'gate' },
      results: ['read'],
      result: 'the answer',
    })
  })

  test('terminal: stop_hook_unmet, with the hook, how often it sent the model back, and the first line of its reason', async () => {
    const outcome = await ask([calls('Look'), 'the answer', 'still the answer', 'the last answer'], {
      tools: [reader('Look')],
      stopHookBlockCap: 2,
      stopHooks: [{ id: 'tests', handle: () => ({ block: '\n3 of 40 tests fail\nsee above' }) }],
    })
    const feedback = ['hook', 'Stop hook feedback: \n3 of 40 tests fail\nsee above'] as const
    expectEnding(outcome, 'stop_hook_unmet', {
      message: 'The stop hook tests still blocks the answer, which was sent back 2 times in a row: 3 of 40 tests fail',
      source: 'stop_hook',
      context: { hook: 'tests', sentBack: 2, reason: '\n3 of 40 tests fail\nsee above' },
      loopMessages: [feedback, feedback],
      results: ['read'],
    })
    expect(outcome.result.last_answer).toBe('the last answer')
  })

  test('terminal: needs_approval, with results before the first pending call and nothing after it', async () => {
    const ran: string[] = []
    const log = (name: string) => tool(name, () => (ran.push(name), 'done'))
    const outcome = await ask([calls('Look', 'First', 'Ask', 'After', 'Look')], {
      tools: [reader('Look'), log('First'), log('Ask'), log('After')],
      permissions: {
        denies: () => undefined,
        decide: ({ call }) =>
          call.name === 'Ask' ? { behavior: 'ask', message: 'Allow Ask?' } : { behavior: 'allow' },
      },
    })
    expectEnding(outcome, 'needs_approval', {
      message: 'Waiting for approval: Ask',
      source: 'permissions',
      context: { pending: [{ id: 'call_0_2', name: 'Ask', message: 'Allow Ask?' }] },
      results: ['read', 'done'],
    })
    expect(ran).toEqual(['First'])
  })

  test('terminal: user_requested, at a cancellation point, with all results', async () => {
    const source = new InMemoryCancellationSource()
    const slow = tool('Slow', () => (source.cancel('user pressed stop'), 'finished all the same'))
    const outcome = await ask([calls('Slow', 'Write')], {
      tools: [slow, tool('Write', 'written')],
      cancellation: [source],
    })
    expectEnding(outcome, 'user_requested', {
      message: 'user pressed stop',
      source: 'InMemoryCancellationSource',
      results: ['finished all the same', 'written'],
    })
  })

  test('terminal: no_answer', async () => {
    const outcome = await ask([calls('Look'), '', ''], { tools: [reader('Look')] })
    expectEnding(outcome, 'no_answer', {
      message: 'The model gave no answer: none of its 2 replies contains text',
      source: 'answer',
      context: { replies: 2 },
      results: ['read'],
    })
  })

  test('terminal: refusal', async () => {
    const outcome = await ask([{ text: 'I will not.', ...calls('Write'), stopReason: 'refusal' }], {
      tools: [tool('Write')],
    })
    expectEnding(outcome, 'refusal', {
      message: 'The model refused to answer',
      source: 'model',
      context: { stopReason: 'refusal' },
      results: ['!Not run: the model refused to continue'],
    })
  })
})
