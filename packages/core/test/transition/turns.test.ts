// Tests R-LAP-1 to R-LAP-7, R-SHOOK-4, R-GATE-2 to R-GATE-4, R-PROG-4, R-DEC-6.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { transitionRules } from '../../src/limits/transition-rules.ts'
import { noProgress, type IterationReason } from '../../src/index.ts'
import { begin, calls, hook, reader, run, loopMessages } from '../support/harness.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'

const tools = [reader('Look')]
const times = (count: number, transition: IterationReason): IterationReason[] =>
  Array.from({ length: count }, () => transition)

describe('turns', () => {
  test('transition: next_turn is taken maxTurns - 1 times, then max_turns', async () => {
    const { transitions, terminal, model } = await run(() => calls('Look'), { tools, maxTurns: 4 })
    expect([transitions, terminal.reason, model.requests.length, terminal.summary.turns]).toEqual([
      times(3, 'next_turn'),
      'max_turns',
      4,
      4,
    ])
  })

  test('transition: next_turn is 1,000 turns by default', async () => {
    const { transitions, terminal } = await run(() => calls('Look'), { tools })
    expect([transitions.length, terminal.reason, terminal.signal.message]).toEqual([
      999,
      'max_turns',
      'Reached maximum number of turns (1000)',
    ])
  })

  test('transition: user_input is taken for a follow-up, and counts as a turn', async () => {
    const script = () => ({ text: 'answer', before: () => going.loop.followUp('and then?') })
    const going = begin(script, { maxTurns: 3 })
    const { transitions, terminal, model, state } = await going.end()
    expect([transitions, terminal.reason, model.requests.length]).toEqual([times(2, 'user_input'), 'max_turns', 3])
    expect(loopMessages({ state })).toEqual(Array.from({ length: 3 }, () => ['follow_up', 'and then?']))
  })

  test('transition: user_input and next_turn share one retry limit', async () => {
    const script = (_request: unknown, index: number): ScriptedReply => {
      if (index === 0) return { text: 'answer', before: () => going.loop.followUp('and then?') }
      return calls('Look')
    }
    const going = begin(script, { tools, maxTurns: 3 })
    const { transitions, terminal } = await going.end()
    expect([transitions, terminal.reason]).toEqual([['user_input', 'next_turn'], 'max_turns'])
  })
})

describe('transition: continuation_requested', () => {
  test('is taken 8 times, then the natural end applies', async () => {
    const again = hook('onStop', (context) => context.withState(context.state().withExecutionContinued('once more')), {
      id: 'again',
    })
    const { transitions, terminal, model } = await run(() => 'answer', { hooks: [again] })
    expect([transitions, terminal.reason, model.requests.length]).toEqual([
      times(8, 'continuation_requested'),
      'completed',
      9,
    ])
  })

  test('is refilled by a spent turn', async () => {
    const again = hook('onStop', (context) => context.withState(context.state().withExecutionContinued('once more')), {
      id: 'again',
    })
    const script = (_request: unknown, index: number): ScriptedReply => (index === 8 ? calls('Look') : 'answer')
    const { transitions, terminal } = await run(script, { tools, hooks: [again] })
    expect([transitions, terminal.reason]).toEqual([
      [...times(8, 'continuation_requested'), 'next_turn', ...times(8, 'continuation_requested')],
      'completed',
    ])
  })
})

describe('transition: stop_hook_blocking', () => {
  /** The same reason three times ends the run (spec R-GOAL-24). */
  const others = (reason: string): (() => string) => {
    let count = 0
    return () => `${reason} (${++count})`
  }
  const gate = (reasons: (active: boolean) => string | undefined) => ({
    id: 'gate',
    handle: ({ stopHookActive }: { readonly stopHookActive: boolean }) => {
      const block = reasons(stopHookActive)
      return block === undefined ? {} : { block }
    },
  })

  test('is taken 8 times in a row, then the run ends as stop_hook_unmet', async () => {
    const active: boolean[] = []
    const { transitions, terminal, model, state } = await run(() => 'answer', {
      stopHooks: [gate((isActive) => `run test ${active.push(isActive)}`)],
    })
    expect([transitions, terminal.reason, model.requests.length]).toEqual([
      times(8, 'stop_hook_blocking'),
      'stop_hook_unmet',
      9,
    ])
    expect(active).toEqual([false, ...Array.from({ length: 8 }, () => true)])
    const feedback = Array.from({ length: 8 }, (_, index) => ['hook', `Stop hook feedback: run test ${index + 1}`])
    expect(loopMessages({ state })).toEqual(feedback)
    expect(terminal.signal.message).toBe(
      'The stop hook gate still blocks the answer, which was sent back 8 times in a row: run test 9',
    )
  })

  test('counts in the figures, and not against maxTurns', async () => {
    let blocks = 0
    const { transitions, terminal } = await run(() => 'answer', {
      maxTurns: 1,
      stopHooks: [gate(() => (blocks++ < 3 ? `more ${blocks}` : undefined))],
    })
    expect([transitions, terminal.reason, terminal.summary.turns]).toEqual([
      times(3, 'stop_hook_blocking'),
      'completed',
      4,
    ])
  })

  test('is refilled by a spent turn', async () => {
    const script = (_request: unknown, index: number): ScriptedReply => (index === 8 ? calls('Look') : 'answer')
    const { transitions } = await run(script, { tools, stopHooks: [gate(others('more'))] })
    expect(transitions).toEqual([...times(8, 'stop_hook_blocking'), 'next_turn', ...times(8, 'stop_hook_blocking')])
  })

  test('matches the figure of the guide', () => {
    expect(transitionRules.stop_hook_blocking).toMatchObject({ iterations: 8, resets: 'refill' })
    const guide = readFileSync(new URL('../../../../docs/guide/hooks.md', import.meta.url), 'utf8')
    expect(guide).toContain('A stop hook can send the model back eight times in a row.')
    expect(guide).toContain('A reply with tool calls starts the count again')
  })

  test('is not taken for an empty reason', async () => {
    for (const reason of ['', ' \n']) {
      const { transitions, terminal } = await run(['answer'], { stopHooks: [gate(() => reason)] })
      expect([transitions, terminal.reason]).toEqual([[], 'completed'])
    }
  })

  test('may have a lower cap, never a higher one', async () => {
    const capped = async (stopHookBlockCap: number) => {
      const stopHooks = [gate(others('more'))]
      const { transitions, terminal } = await run(() => 'answer', { stopHookBlockCap, stopHooks })
      return [transitions, terminal.reason, terminal.signal.message.replace(/^The stop hook gate /, '')]
    }
    const unmet = 'stop_hook_unmet'
    expect(await capped(2)).toEqual([
      times(2, 'stop_hook_blocking'),
      unmet,
      'still blocks the answer, which was sent back 2 times in a row: more (3)',
    ])
    expect(await capped(0)).toEqual([[], unmet, 'blocks the answer, and may not send it back: more (1)'])
    expect((await capped(99)).slice(0, 2)).toEqual([times(8, 'stop_hook_blocking'), unmet])
  })
})

describe('transition: token_budget_continuation', () => {
  const script =
    (gains: readonly number[]) =>
    (_request: unknown, index: number): ScriptedReply => ({
      text: 'answer',
      usage: { output_tokens: gains[index] ?? 0 },
    })

  test('is taken until 90 % of the target is used', async () => {
    const { transitions, terminal, events } = await run(script([1_000, 1_000, 1_000, 1_500]), { tokenBudget: 5_000 })
    expect([transitions, terminal.reason]).toEqual([times(3, 'token_budget_continuation'), 'completed'])
    expect(events.filter(({ type }) => type === 'token_budget')).toEqual([
      {
        type: 'token_budget',
        completion: {
          continuationCount: 3,
          pct: 90,
          turnTokens: 4_500,
          budget: 5_000,
          diminishingReturns: false,
          durationMs: 0,
        },
      },
    ])
  })

  test('is taken three times without gain, then the run is completed with diminishing returns', async () => {
    const { transitions, terminal, events } = await run(script([]), { tokenBudget: 5_000 })
    expect([transitions, terminal.reason]).toEqual([times(3, 'token_budget_continuation'), 'completed'])
    expect(events.filter(({ type }) => type === 'token_budget')).toEqual([
      {
        type: 'token_budget',
        completion: {
          continuationCount: 3,
          pct: 0,
          turnTokens: 0,
          budget: 5_000,
          diminishingReturns: true,
          durationMs: 0,
        },
      },
    ])
  })

  test('sends the nudge', async () => {
    const { state } = await run(script([1_000, 4_000]), { tokenBudget: 5_000 })
    expect(loopMessages({ state })).toEqual([
      [
        'loop',
        'You have used 1,000 of the 5,000 tokens (20 %) intended for this task. Keep working on it; do not summarize or stop yet.',
      ],
    ])
  })

  test('refills other retry limits only when it gained', async () => {
    const blocked = (gains: readonly number[]) => {
      // Blocks whenever it may; the gate is asked once blocking is used up and the hook passes.
      let blocks = 0
      const stopHooks = [{ id: 'gate', handle: () => (blocks++ % 9 < 8 ? { block: `more ${blocks}` } : {}) }]
      return run(script(gains), { tokenBudget: 2_000, stopHooks })
    }
    const gained = await blocked([600])
    expect(gained.transitions.slice(0, 17)).toEqual([
      ...times(8, 'stop_hook_blocking'),
      'token_budget_continuation',
      ...times(8, 'stop_hook_blocking'),
    ])
    const idle = await blocked([])
    expect(idle.transitions).toEqual([...times(8, 'stop_hook_blocking'), 'token_budget_continuation'])
  })
})

describe('transition: no_progress_nudge', () => {
  test('is taken once a run after three rounds, then no_progress after five in all', async () => {
    const { transitions, terminal, model } = await run(() => calls('Look'), { tools, stopWhen: noProgress() })
    expect([transitions, terminal.reason, model.requests.length]).toEqual([
      [...times(2, 'next_turn'), 'no_progress_nudge', 'next_turn'],
      'no_progress',
      5,
    ])
  })

  test('is not refilled by turns that made progress', async () => {
    const script = (_request: unknown, index: number): ScriptedReply =>
      calls({ name: 'Look', input: index === 3 ? { at: 'elsewhere' } : {} })
    const { transitions, terminal } = await run(script, { tools, stopWhen: noProgress() })
    expect([
      transitions.filter((name) => name === 'no_progress_nudge').length,
      terminal.reason,
      terminal.summary.turns,
    ]).toEqual([1, 'no_progress', 9])
  })
})

describe('transition: wrap_up', () => {
  test('is taken once: a last answer without tools, and the run result stays that of the limit', async () => {
    const script = (_request: unknown, index: number): ScriptedReply =>
      index < 2 ? calls('Look') : { text: 'what is done', ...calls('Look') }
    const model = scriptedModel(script)
    const { transitions, terminal, state } = await run(script, { model, tools, maxTurns: 2, wrapUp: true })
    expect([transitions, terminal.reason, terminal.signal.message]).toEqual([
      ['next_turn', 'wrap_up'],
      'max_turns',
      'Reached maximum number of turns (2)',
    ])
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined, 'none'])
    expect(loopMessages({ state })).toEqual([
      [
        'loop',
        'This run is ending: Reached maximum number of turns (2). Give your final answer now, without calling tools: what is done, what is not done, and what to do next.',
      ],
    ])
    expect(state.transcript.at(-1)).toMatchObject({
      kind: 'attachment',
      attachment: { type: 'max_turns_reached', maxTurns: 2, turnCount: 3 },
    })
  })

  test('is not taken without the option, nor at a natural end', async () => {
    expect((await run(() => calls('Look'), { tools, maxTurns: 2 })).transitions).toEqual(['next_turn'])
    expect((await run(['answer'], { tools, wrapUp: true })).transitions).toEqual([])
  })
})
