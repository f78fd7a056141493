// Tests R-GOAL-20, R-GOAL-24: a stop hook that blocks for the same reason while nothing changes ends the run.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AgentTool, StopHook } from '../../src/index.ts'
import { validateRecord } from '../../src/entries/steps.ts'
import type { ScriptedReply } from '../../src/testing/index.ts'
import { calls, hook, reader, run, tool } from '../support/harness.ts'

const tools = [reader('Look'), tool('Write')]
const look = calls('Look')
const write = calls('Write')

/** Blocks each answer with the next of these reasons, and passes once they are used up. */
function gate(reasons: readonly string[], id = 'gate'): StopHook {
  let next = 0
  return { id, handle: () => ({ block: reasons[next++] ?? '' }) }
}

const always = (reason: string): StopHook => ({ id: 'gate', handle: () => ({ block: reason }) })
const answers = (): ScriptedReply => 'answer'

describe('a stop hook that blocks three times for the same reason', () => {
  test('ends the run, and is named with its message', async () => {
    const { terminal, transitions, model } = await run(answers, { stopHooks: [always('\nrun the tests\nall of them')] })
    expect([terminal.reason, transitions, model.requests.length]).toEqual([
      'stop_hook_unmet',
      ['stop_hook_blocking', 'stop_hook_blocking'],
      3,
    ])
    const { message, context, reason, source } = terminal.signal
    expect([message, reason, source]).toEqual([
      'The stop hook gate blocked the answer 3 times for the same reason, and nothing changed in between: run the tests',
      'retry_limit',
      'stop_hook',
    ])
    expect(context).toEqual({ hook: 'gate', repeats: 3, reason: '\nrun the tests\nall of them' })
  })

  test('ends it also with calls in between, when these only read', async () => {
    const script: readonly ScriptedReply[] = ['answer', look, 'answer', look, look, 'answer', 'never']
    const { terminal, model } = await run(script, { tools, stopHooks: [always('more')] })
    expect([terminal.reason, model.requests.length]).toEqual(['stop_hook_unmet', 6])
  })

  test('does not end it when a call may have changed something in between', async () => {
    const script: readonly ScriptedReply[] = ['answer', 'answer', write, 'answer', 'answer', write, 'answer']
    const { terminal } = await run(script, { tools, stopHooks: [gate(['more', 'more', 'more', 'more'])] })
    expect(terminal.reason).toBe('completed')
  })

  test('does not end it when an agent may have changed something in between', async () => {
    const agent: AgentTool = {
      name: 'Agent',
      description: 'a subagent',
      inputSchema: { type: 'object' },
      readOnly: true,
      spawn: () => ({ prompt: 'sub' }),
    }
    const runOptions = { tools: [...tools, agent], stopHooks: [gate(['more', 'more', 'more'])] }
    const script: readonly ScriptedReply[] = ['answer', 'answer', calls('Agent'), write, 'changed', 'answer', 'done']
    expect((await run(script, runOptions)).terminal.reason).toBe('completed')
    const idle: readonly ScriptedReply[] = ['answer', 'answer', calls('Agent'), look, 'seen', 'answer', 'never']
    const again = { ...runOptions, stopHooks: [gate(['more', 'more', 'more'])] }
    expect((await run(idle, again)).terminal.reason).toBe('stop_hook_unmet')
  })

  test('does not end it when it gave another reason in between, or only another hook blocked', async () => {
    const other = await run(answers, { stopHooks: [gate(['one', 'one', 'two', 'one', 'one'])] })
    expect(other.terminal.reason).toBe('completed')
    const alone = await run(answers, {
      stopHooks: [gate(['one', 'one', '', 'one', 'one'], 'first'), gate(['', '', 'two', '', ''], 'second')],
    })
    expect(alone.terminal.reason).toBe('completed')
  })

  test('ends it together with a hook that gives other reasons', async () => {
    const { terminal } = await run(answers, {
      stopHooks: [gate(['one', 'two', 'three'], 'counts'), { ...always('the same'), id: 'insists' }],
    })
    expect([terminal.reason, terminal.signal.context['hook']]).toEqual(['stop_hook_unmet', 'insists'])
  })

  test('may be overridden by a hook, and ends the run at its next block', async () => {
    let callCount = 0
    const again = hook('onStop', (context) =>
      callCount++ === 0 ? context.withState(context.state().withExecutionContinued('once more')) : undefined,
    )
    const { terminal, transitions } = await run(answers, { hooks: [again], stopHooks: [always('more')] })
    expect([terminal.reason, transitions]).toEqual([
      'stop_hook_unmet',
      ['stop_hook_blocking', 'stop_hook_blocking', 'continuation_requested'],
    ])
  })

  test('is on record with each iteration, validated when it is read, with one entry per hook', async () => {
    const stopHooks = [gate(['one', 'two', 'three'], 'first'), gate(['a', 'a', 'b'], 'second')]
    const { steps, state } = await run(answers, { stopHooks })
    const iterationRecords = steps.records.flatMap((record) => (record.type === 'lap' ? [record] : []))
    const last = iterationRecords.at(-1)
    const blocks = last?.lap.spent.stopHookBlocks ?? []
    expect(blocks.map(({ hook: id, times }) => [id, times])).toEqual([
      ['first', 1],
      ['second', 1],
    ])
    expect(state.spent.stopHookBlocks).toEqual(blocks)
    expect(validateRecord(last)).toBeUndefined()
    const spent = { ...last?.lap.spent, stopHookBlocks: [{ hook: 1 }] }
    expect(validateRecord({ ...last, lap: { ...last?.lap, spent } })).toContain('stopHookBlocks')
  })
})

test('a run ends at the first third repetition, after eight blocks in a row, or when nothing blocks', async () => {
  const step = fc.record({
    reason: fc.constantFrom('one', 'two'),
    before: fc.constantFrom('nothing', 'nothing', 'Look', 'Write'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const script = steps.flatMap(({ before }): ScriptedReply[] =>
        before === 'nothing' ? ['a'] : [calls(before), 'a'],
      )
      const expected = (() => {
        let [times, inRow, last] = [0, 0, '']
        for (const { reason, before } of steps) {
          if (before !== 'nothing') inRow = 0
          times = reason === last && before !== 'Write' ? times + 1 : 1
          last = reason
          if (times === 3) return ['stop_hook_unmet', { hook: 'gate', repeats: 3, reason }]
          if (inRow++ === 8) return ['stop_hook_unmet', { hook: 'gate', sentBack: 8, reason }]
        }
        return ['completed', {}]
      })()
      const stopHooks = [gate(steps.map(({ reason }) => reason))]
      const { terminal } = await run([...script, 'done'], { tools, stopHooks })
      expect([terminal.reason, terminal.signal.context]).toEqual(expected)
    }),
    { numRuns: 100 },
  )
})
