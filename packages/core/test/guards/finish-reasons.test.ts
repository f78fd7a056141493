// Tests R-GUARD-5.
import { describe, expect, test } from 'vitest'
import { AgentState, finishReason, not } from '../../src/index.ts'
import { AgentBuilder, UseGuards, UseModel } from '../../src/compat/index.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, dollarATokenPrices, failures, hook, reader, resultTexts, run, tool } from '../support/harness.ts'

const cut = { text: 'part', stopReason: 'max_tokens' } as const
const ended = (reason: string) => ({
  reason: 'finish_reason',
  message: `Finish reason received: ${reason}`,
  context: { finishReason: reason },
  source: 'FinishReasonHook',
})

describe.each(['max_tokens', 'pause_turn', 'refusal', 'model_context_window_exceeded', 'end_turn', 'other'])(
  'a guard that waits for %s',
  (reason) => {
    test('ends the run with the reply that ended this way', async () => {
      const result = await run([{ text: 'part', stopReason: reason }, 'more'], { stopWhen: finishReason(reason) })
      expect([
        result.terminal.reason,
        result.terminal.signal.toJSON(),
        result.messages,
        result.transitions,
        failures(result),
      ]).toEqual([
        'finish_reason',
        ended(reason),
        [
          { role: 'user', content: 'go' },
          expect.objectContaining({ role: 'assistant', content: [{ type: 'text', text: 'part' }] }),
        ],
        [],
        [],
      ])
    })

    test('has the same effect in a built agent', async () => {
      const agent = AgentBuilder.base()
        .withCapability(new UseModel(scriptedModel([{ text: 'part', stopReason: reason }, 'more'])))
        .withCapability(new UseGuards({ finishReasons: [reason], maxTokens: null }))
        .build()
      const state = await agent.execute(AgentState.empty().withUserMessage('go'))
      expect([state.stopReason(), state.lastAnswer()]).toEqual(['finish_reason', 'part'])
    })
  },
)

describe('a reply with an abnormal finish reason', () => {
  test('is recovered when no guard waits for its finish reason', async () => {
    const { terminal, transitions } = await run([cut, cut, 'done'], { stopWhen: finishReason('refusal', 'pause_turn') })
    expect([terminal.reason, transitions]).toEqual([
      'completed',
      ['max_output_tokens_recovery', 'max_output_tokens_recovery'],
    ])
  })

  test('ends the run at the budget when the budget truncated the reply', async () => {
    const { terminal } = await run([{ ...cut, usage: { input_tokens: 10, output_tokens: 2_000 } }], {
      maxBudgetUsd: 2_500,
      prices: dollarATokenPrices,
      stopWhen: finishReason('max_tokens'),
    })
    expect(terminal.reason).toBe('max_budget_usd')
  })

  test('has its complete calls run before the guard is evaluated', async () => {
    const reply: ScriptedReply = { ...calls('Look'), stopReason: 'max_tokens' }
    const result = await run([reply, 'more'], { tools: [reader('Look')], stopWhen: finishReason('max_tokens') })
    expect([result.terminal.signal.toJSON(), resultTexts(result), result.model.requests.length]).toEqual([
      ended('max_tokens'),
      ['read'],
      1,
    ])
  })

  test('has no call run after a refusal', async () => {
    const reply: ScriptedReply = { ...calls('Write'), stopReason: 'refusal' }
    const result = await run([reply, 'more'], { tools: [tool('Write')], stopWhen: finishReason('refusal') })
    expect([result.terminal.signal.toJSON(), resultTexts(result)]).toEqual([
      ended('refusal'),
      ['Not run: the model refused to continue'],
    ])
  })

  test('is shown to the hooks after inference, which may continue', async () => {
    const seen: unknown[] = []
    const look = hook('afterInference', (context) => void seen.push(context.state().lastAnswer()))
    const insist = hook('onStop', (context) => {
      const state = context.state()
      return state.stopReason() === 'finish_reason' ? context.withState(state.withExecutionContinued('go on')) : context
    })
    const { terminal, transitions } = await run([cut, 'done'], {
      hooks: [look, insist],
      stopWhen: finishReason('max_tokens'),
    })
    expect([seen, transitions, terminal.reason]).toEqual([['part', 'done'], ['continuation_requested'], 'completed'])
  })

  test('stops a guard that waits for every other reason', async () => {
    const { terminal } = await run([cut, 'done'], { stopWhen: not(finishReason('end_turn')) })
    expect(terminal.signal.message).toBe('FinishReasonHook does not hold')
  })
})
