// Tests R-STEP-6 and R-LOOP-4: what a step engine is asked for, and what is reported when it fails.
import { describe, expect, test } from 'vitest'
import { createMemorySteps, type MemorySteps, type Permissions } from '../../src/index.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  hook,
  reader,
  resultTexts,
  run,
  tick,
  tool,
  until,
  type RunTestOptions,
  type Run,
} from '../support/harness.ts'

const unknown = expect.stringMatching(/^The outcome of this call is unknown/)

/** A step engine that records what had to be on disk before each side effect. */
function syncRecordingSteps(): { readonly steps: MemorySteps; readonly sync: { [key: string]: string } } {
  const steps = createMemorySteps({ clock: createFakeClock({ autoAdvance: true }) })
  const sync: { [key: string]: string } = {}
  const inner = steps.run.bind(steps)
  steps.run = (key, effect, options) => {
    sync[key.slice('run1/'.length)] = options.sync
    return inner(key, effect, options)
  }
  return { steps, sync }
}

describe('writes the intent to disk before its side effect is called', () => {
  const tools = [reader('Look'), tool('Write', 'written'), tool('Fetch', 'got', { onUnknownOutcome: 'rerun' })]
  const script = [calls('Look', 'Write', 'Fetch'), 'done']

  test('of every call that is not read-only, and of nothing else in a run without a limit', async () => {
    const { steps, sync } = syncRecordingSteps()
    const hooks = [hook(['beforeToolUse', 'afterToolUse', 'afterStep'], () => {}, { id: 'watch', tools: ['Look'] })]
    await run(script, { steps, tools, hooks })
    expect(sync).toEqual({
      'model:1.1': 'none',
      'hook:beforeToolUse:1:0:call_0_0:watch': 'none',
      'permission:1:0:call_0_0': 'none',
      'tool:1:0:call_0_0': 'none',
      'hook:afterToolUse:1:0:call_0_0:watch': 'none',
      'tool:1:1:call_0_1': 'intent',
      'tool:1:2:call_0_2': 'intent',
      'hook:afterStep:1::watch': 'none',
      'model:2.1': 'none',
    })
  })

  test('of a request under a limit: its reservation must not be lost', async () => {
    const keptIntents = async (overrides: RunTestOptions) => {
      const { steps, sync } = syncRecordingSteps()
      await run(script, { steps, tools, ...overrides })
      return sync
    }
    const expected = {
      'model:1.1': 'intent',
      'tool:1:0:call_0_0': 'none',
      'tool:1:1:call_0_1': 'intent',
      'tool:1:2:call_0_2': 'intent',
      'model:2.1': 'intent',
    }
    expect(await keptIntents({ maxTotalTokens: 1_000_000 })).toEqual(expected)
    expect(await keptIntents({ maxBudgetUsd: 1_000_000, prices: dollarATokenPrices })).toEqual(expected)
  })

  test('of a wait for a person', async () => {
    const { steps, sync } = syncRecordingSteps()
    const permissions: Permissions = {
      denies: () => undefined,
      decide: () => ({ behavior: 'ask', message: 'May I?' }),
    }
    const going = begin([calls('Look'), 'done'], { steps, tools, permissions, onAsk: 'wait' })
    const key = 'approval:1:0:call_0_0'
    await until(() => key in sync)
    going.loop.answer(`run1/${key}`, { behavior: 'allow' })
    await going.end()
    expect(sync).toEqual({
      'model:1.1': 'none',
      'permission:1:0:call_0_0': 'none',
      [key]: 'intent',
      'tool:1:0:call_0_0': 'none',
      'model:2.1': 'none',
    })
  })
})

describe('a step engine that fails', () => {
  /** Breaks at the record of this type and key. */
  const failing = (type: 'intent' | 'result', key: string): MemorySteps =>
    createMemorySteps({
      clock: createFakeClock({ autoAdvance: true }),
      onRecord(record) {
        if (record.type === type && record.key === `run1/${key}`) throw new Error('disk full')
      },
    })

  test('leaves each call with its known outcome: its result, an unknown outcome, or not run', async () => {
    const ran: string[] = []
    const tools = ['Look', 'Write', 'Other'].map((name) => tool(name, () => (ran.push(name), `${name} done`)))
    const result = await run([calls('Look', 'Write', 'Other')], {
      tools,
      steps: failing('result', 'tool:1:1:call_0_1'),
    })
    expect([result.terminal.reason, result.terminal.error?.message]).toEqual(['error', 'The run failed: disk full'])
    expect([resultTexts(result), ran]).toEqual([
      ['Look done', unknown, 'Not run: the run failed before this call'],
      ['Look', 'Write'],
    ])
    expect(result.terminal.summary.toolResults).toBe(3)
  })

  test('leaves nothing of the previous turn: a repeated call id is reported anew', async () => {
    const again = { name: 'Write', id: 'again' }
    const result = await run([calls(again), calls('Other', again)], {
      tools: [tool('Write', 'first'), tool('Other', 'x')],
      steps: failing('result', 'tool:2:0:call_1_0'),
    })
    expect(resultTexts(result)).toEqual(['first', unknown, 'Not run: the run failed before this call'])
  })

  test('leaves the results of calls that ran in parallel, also next to the record that failed', async () => {
    const result = await run([calls('Look', 'Other')], {
      tools: [reader('Look', 'looked'), reader('Other', async () => (await tick(), 'late'))],
      steps: failing('result', 'tool:1:1:call_0_1'),
    })
    expect(resultTexts(result)).toEqual(['looked', unknown])
  })

  test('leaves the calls of a message as not run when it fails before them, whatever an earlier call with the same id returned', async () => {
    const again = { name: 'Write', id: 'again' }
    const result = await run([calls(again), calls(again)], {
      tools: [tool('Write', 'first')],
      hooks: [hook('afterInference', () => {}, { id: 'watch' })],
      steps: failing('result', 'hook:afterInference:2::watch'),
    })
    expect(resultTexts(result)).toEqual(['first', 'Not run: the run failed before this call'])
  })

  test('reports messages of hooks about calls that had ended, after the results and once', async () => {
    const hooks = [
      hook('afterToolUse', (context) => context.withState(context.state().withUserMessage('looked')), {
        id: 'reports',
      }),
      hook('afterInference', () => {}, { id: 'watch' }),
    ]
    const runOptions = { tools: [tool('Look'), tool('Write')], hooks }
    const written = ({ messages }: Run) =>
      messages.map(({ content }) => (typeof content === 'string' ? content : content.map(({ type }) => type)))
    const within = await run([calls('Look', 'Write')], { ...runOptions, steps: failing('result', 'tool:1:1:call_0_1') })
    expect(written(within)).toEqual(['go', ['tool_use', 'tool_use'], ['tool_result', 'tool_result'], 'looked'])
    const later = await run([calls('Look'), calls('Write')], {
      ...runOptions,
      steps: failing('result', 'hook:afterInference:2::watch'),
    })
    expect(written(later)).toEqual(['go', ['tool_use'], ['tool_result'], 'looked', ['tool_use'], ['tool_result']])
  })

  test('leaves a run without its iteration at a failed iteration record: nothing unrecorded is paid', async () => {
    const steps = createMemorySteps({
      clock: createFakeClock({ autoAdvance: true }),
      onRecord({ type }) {
        if (type === 'lap') throw new Error('disk full')
      },
    })
    const { terminal, state, transitions } = await run([calls('Look')], { tools: [reader('Look')], steps })
    expect([terminal.reason, transitions, state.spent.laps, state.spent.request]).toEqual([
      'error',
      [],
      { sinceRefill: {}, inRun: {} },
      1,
    ])
  })
})
