// Holds rules of docs/spec: R-IF-1 to R-IF-6.
import { describe, expect, test } from 'vitest'
import { agentTool, noProgress, StopSignal, type Guard, type RunOptions } from '@halting/core'
import { waitThresholdMs } from '@halting/core/steps'
import { createFakeClock, scriptedModel } from '@halting/core/testing'
import { accountOf } from '../../src/account/account.ts'
import { suggestLimits } from '../../src/what-if/suggest-limits.ts'
import { trajectoryOf, type Trajectory } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { begin, calls, dollarATokenPrices, reader, run, tool } from '../../../core/test/support/harness.ts'
import { killedAfter } from '../../../core/test/support/kill-process.ts'
import { drawn } from '../../../core/test/support/deep.ts'
import { randomOf, liveRun } from '../support/what-if-world.ts'

const usage = { input_tokens: 100, output_tokens: 10 }

/** A run that is the same under any limits: replies by number, and tools that take time. */
function testOptions(seed: number): {
  readonly script: Parameters<typeof scriptedModel>[0]
  readonly options: () => RunOptions
} {
  const draw = randomOf(seed)
  const repeats = draw(3) === 0
  // Repetition that waits may continue for longer.
  const waits = repeats && draw(2) === 0
  const length = 3 + draw(waits ? 80 : 25)
  const replies = Array.from({ length }, (_, index) => {
    const names = Array.from({ length: 1 + draw(2) }, () => (repeats || draw(3) > 0 ? 'Look' : 'Write'))
    const input = repeats && index > 4 ? { n: 0 } : { n: draw(4) }
    return {
      ...(repeats && index > 4 ? calls({ name: 'Look', input }) : calls(...names.map((name) => ({ name, input })))),
      usage: { input_tokens: 10 + draw(200), output_tokens: draw(50) },
    }
  })
  const script = [...replies, { text: 'done', usage }]
  return {
    script,
    options: () => {
      const clock = createFakeClock({ autoAdvance: true })
      const taking = (ms: number) => async () => {
        await new Promise<void>((resolve) => void clock.after(ms, resolve))
        return 'seen'
      }
      const tools = [reader('Look', taking(waits ? waitThresholdMs : 20)), tool('Write', taking(50))]
      return {
        clock,
        tools,
        prices: dollarATokenPrices,
        model: scriptedModel(script, { maxOutputTokens: 50 }),
        graceMs: 0,
      }
    },
  }
}

const seeds = Array.from({ length: drawn(400) }, (_, seed) => seed)

describe('the answer for other limits equals a live run with them', () => {
  test.each(seeds)('seed %i', async (seed) => {
    const { options } = testOptions(seed)
    const draw = randomOf(seed + 1_000)
    const whole = await liveRun(options())
    const trajectory = trajectoryOf(whole.records)
    const total = { turns: whole.terminal.summary.turns, usd: whole.terminal.costUsd, ms: whole.terminal.durationMs }
    expect(whatIf(trajectory, {})).toMatchObject({ verdict: 'same', reason: 'completed', saved: { tokens: 0 } })

    const maxTurns = 1 + draw(total.turns + 2)
    const byTurns = await liveRun({ ...options(), maxTurns })
    const said = whatIf(trajectory, { maxTurns })
    expect([said.reason, said.kept.turns, said.kept.costUsd, said.kept.activeMs]).toEqual([
      byTurns.terminal.reason,
      byTurns.terminal.summary.turns,
      byTurns.terminal.costUsd,
      byTurns.terminal.durationMs,
    ])
    expect(said.kept.costUsd + said.saved.costUsd).toBeCloseTo(total.usd, 6)

    const drawn = 1 + draw(total.ms + 20)
    // A run that ends exactly at its limit may end either way.
    const maxDurationMs = drawn === total.ms ? drawn + 1 : drawn
    const byTime = await liveRun({ ...options(), maxDurationMs })
    const timed = whatIf(trajectory, { maxDurationMs })
    expect([timed.reason, timed.kept.activeMs, timed.kept.costUsd]).toEqual([
      byTime.terminal.reason,
      byTime.terminal.durationMs,
      byTime.terminal.costUsd,
    ])

    const circles = whatIf(trajectory, { noProgress: true })
    const guarded = await liveRun({ ...options(), stopWhen: noProgress() })
    expect([circles.reason, circles.kept.costUsd]).toEqual([guarded.terminal.reason, guarded.terminal.costUsd])

    // A request that may cost more than is left is cut off or not made, so a run may stop long before its budget is used up.
    const maxBudgetUsd = 1 + draw(Math.floor(total.usd) + 100)
    const byMoney = await liveRun({ ...options(), maxBudgetUsd })
    const maxTotalTokens = 1 + draw(Math.floor(total.usd) + 100)
    const byTokens = await liveRun({ ...options(), maxTotalTokens })
    for (const [limits, { terminal }] of [
      [{ maxBudgetUsd }, byMoney],
      [{ maxTotalTokens }, byTokens],
    ] as const) {
      const { reason, kept, isAtTheLatest } = whatIf(trajectory, limits)
      expect([reason, kept.turns, kept.costUsd, kept.tokens, isAtTheLatest]).toEqual([
        terminal.reason,
        terminal.summary.turns,
        terminal.costUsd,
        terminal.totalTokens,
        false,
      ])
    }

    // Each of these again: with its own limits it is the same, and with wider ones it is unknown.
    for (const [records, own, wider] of [
      [byTurns, { maxTurns }, { maxTurns: maxTurns + 1 }],
      [byTime, { maxDurationMs }, { maxDurationMs: null }],
      [guarded, { noProgress: true }, { noProgress: false }],
      [byMoney, { maxBudgetUsd }, { maxBudgetUsd: maxBudgetUsd + 1 }],
      [byTokens, { maxTotalTokens }, { maxTotalTokens: maxTotalTokens + 1 }],
    ] as const) {
      const again = trajectoryOf(records.records)
      const { reason } = records.terminal
      expect(whatIf(again, own)).toMatchObject({ verdict: 'same', reason, saved: { turns: 0, tokens: 0 } })
      // The same where the record does not say which limits it had.
      const { limits } = again
      const unlimited = { ...limits, maxTurns: null, maxBudgetUsd: null, maxTotalTokens: null, maxDurationMs: null }
      expect(whatIf({ ...again, limits: unlimited }, own).reason).toBe(reason)
      const unknown = { verdict: 'unknown', reason: null }
      expect(whatIf(again, wider)).toMatchObject(reason === 'completed' ? { verdict: 'same', reason } : unknown)
    }
  })
})

test('a run that a hook or a guard ended under the name of a limit is the same with its own limits', async () => {
  const stop = {
    name: 'own',
    evaluate: () => new StopSignal({ reason: 'token_limit', message: 'enough', context: { limit: 5 } }),
  }
  const { terminal, steps } = await run([calls('Look'), 'done'], { tools: [reader('Look')], stopWhen: [stop] })
  expect(terminal.reason).toBe('token_limit')
  const trajectory = trajectoryOf(steps.records)
  for (const limits of [{}, { maxTotalTokens: null }]) {
    expect(whatIf(trajectory, limits)).toMatchObject({ verdict: 'same', reason: 'token_limit' })
  }
  // The effect of a limit that did not exist is unknown.
  expect(whatIf(trajectory, { maxTotalTokens: 6 })).toMatchObject({ verdict: 'unknown', reason: null })
})

test('a run that a service billed above the declared maximum is the same with its own budget', async () => {
  const dear = { cost: () => 110, worstCase: () => 50 }
  const { terminal, steps } = await run([calls('Look'), 'never'], {
    tools: [reader('Look')],
    prices: dear,
    maxBudgetUsd: 100,
  })
  expect([terminal.reason, terminal.costUsd]).toEqual(['max_budget_usd', 110])
  const said = whatIf(trajectoryOf(steps.records), { maxBudgetUsd: 100 })
  expect(said).toMatchObject({ verdict: 'same', reason: 'max_budget_usd', kept: { costUsd: 110 } })
})

test('a recovery is not a turn', async () => {
  const cut = { text: 'half', stopReason: 'max_tokens', usage } as const
  const script = [cut, cut, { ...calls('Look'), usage }, { text: 'done', usage }]
  const ended = async (maxTurns: number) => {
    const { terminal, steps, transitions } = await run(script, {
      tools: [reader('Look')],
      prices: dollarATokenPrices,
      maxTurns,
    })
    return { terminal, transitions, trajectory: trajectoryOf(steps.records) }
  }
  const [whole, one] = [await ended(9), await ended(1)]
  expect(whole.transitions).toEqual(['max_output_tokens_recovery', 'max_output_tokens_recovery', 'next_turn'])
  expect(whatIf(whole.trajectory, { maxTurns: 2 })).toMatchObject({ verdict: 'same', reason: 'completed' })
  const { terminal } = one
  expect(whatIf(whole.trajectory, { maxTurns: 1 })).toMatchObject({
    verdict: 'stops',
    reason: terminal.reason,
    kept: { turns: terminal.summary.turns, costUsd: terminal.costUsd },
  })
})

test('a request is made where just enough is left for its shortest useful reply', async () => {
  const options = { prices: dollarATokenPrices, tools: [reader('Look')] }
  const script = [
    { ...calls('Look'), usage },
    { text: 'done', usage },
  ]
  const trajectory = trajectoryOf((await run(script, options)).steps.records)
  const least = trajectory.turns[0]?.payments[0]?.bounds?.least.tokens ?? 0
  const turns: number[] = []
  for (const maxBudgetUsd of [least - 1, least]) {
    const { terminal } = await run(script, { ...options, maxBudgetUsd })
    const { reason, kept } = whatIf(trajectory, { maxBudgetUsd })
    expect([reason, kept.turns]).toEqual([terminal.reason, terminal.summary.turns])
    turns.push(kept.turns)
  }
  expect(turns[0]).toBe(0)
  expect(turns[1]).toBeGreaterThan(0)
})

test('finished steps of a turn that a time limit interrupts are preserved', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const taking = (name: string, ms: number) =>
    tool(name, async () => {
      await new Promise<void>((resolve) => void clock.after(ms, resolve))
      return 'done'
    })
  const script = [
    { ...calls('Short', 'Long'), usage },
    { text: 'done', usage },
  ]
  const tools = [taking('Short', 20), taking('Long', 50)]
  const { steps } = await run(script, { clock, prices: dollarATokenPrices, tools })
  expect(whatIf(trajectoryOf(steps.records), { maxDurationMs: 30 })).toMatchObject({
    reason: 'time_limit',
    kept: { turns: 1, costUsd: 110, activeMs: 30 },
    lost: { changes: { Long: 1 }, calls: 1, answer: true },
  })
})

test('a turn does not wait because a tool of its subagent does', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const agent = agentTool({
    name: 'Agent',
    description: 'a subagent',
    readOnly: true,
    spawn: () => ({ prompt: 'sub' }),
  })
  const work = reader('Work', async () => {
    await new Promise<void>((resolve) => void clock.after(60_000, resolve))
    return 'worked'
  })
  const options = { clock, tools: [agent, work] }
  const script: Parameters<typeof run>[0] = ({ messages }) => {
    if (messages[0]?.content === 'sub') return messages.length === 1 ? calls('Work') : 'it'
    return messages.length < 60 ? calls('Agent') : 'done'
  }
  const guarded = await run(script, { ...options, stopWhen: noProgress() })
  const said = whatIf(trajectoryOf((await run(script, options)).steps.records), { noProgress: true })
  expect([guarded.terminal.reason, guarded.transitions.indexOf('no_progress_nudge')]).toEqual(['no_progress', 2])
  expect(said).toMatchObject({ reason: 'no_progress', toldAfterTurn: 3, kept: { turns: 5 } })
})

test('a reminder does not reset the repetition count, and one in place of an ending does', async () => {
  const script = [...Array.from({ length: 4 }, () => calls('Look')), 'done']
  const guard = noProgress({ repeats: 3 })
  const stopping: Guard = {
    name: 'circles',
    checkpoints: ['after_tools'],
    looksAtTurns: true,
    evaluate: (view) => guard.evaluate(view),
  }
  for (const [stopWhen, isFresh] of [
    [noProgress(), false],
    [stopping, true],
  ] as const) {
    const { steps, transitions } = await run(script, { tools: [reader('Look')], stopWhen })
    expect(transitions[2]).toBe('no_progress_nudge')
    const { turns } = trajectoryOf(steps.records)
    expect(turns.map(({ isFreshAfter }) => isFreshAfter)).toEqual([false, false, isFresh, false, false])
    expect(turns.map(({ isReminded }) => isReminded)).toEqual([undefined, undefined, undefined, true, undefined])
  }
})

test('the model gets no reminder where no turn is left, and where one is left, the following turn counts', async () => {
  const tools = [reader('Look')]
  const { steps } = await run([...Array.from({ length: 4 }, () => calls('Look')), 'done'], { tools })
  for (const [maxTurns, turns, toldAfterTurn] of [
    [3, 3, null],
    [4, 4, 3],
  ] as const) {
    const guarded = await run(() => calls('Look'), { tools, maxTurns, stopWhen: noProgress() })
    expect([guarded.terminal.summary.turns, guarded.transitions.includes('no_progress_nudge')]).toEqual([
      turns,
      toldAfterTurn !== null,
    ])
    expect(whatIf(trajectoryOf(steps.records), { noProgress: true, maxTurns })).toMatchObject({
      toldAfterTurn,
      kept: { turns },
    })
    expect(whatIf(trajectoryOf(guarded.steps.records), { noProgress: true, maxTurns }).verdict).toBe('same')
  }
})

test('a run is the same with its own guard, including the last answer that it was asked for', async () => {
  const replies = [...Array.from({ length: 12 }, () => calls({ name: 'Look', input: { n: 1 } })), 'done', 'done']
  const { terminal, steps } = await run(replies, {
    tools: [reader('Look')],
    stopWhen: noProgress(),
    wrapUp: true,
  })
  expect(terminal.reason).toBe('no_progress')
  const { verdict, kept } = whatIf(trajectoryOf(steps.records), { noProgress: true })
  expect([verdict, kept.tokens]).toEqual([
    'same',
    terminal.summary.usage.input_tokens + terminal.summary.usage.output_tokens,
  ])
})

test('the answer names the limit with its figures, the savings, and the losses by tool', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const script = [calls('Look'), calls('Write', 'Look'), calls('Write'), 'done'].map((reply) =>
    typeof reply === 'string' ? { text: reply, usage } : { ...reply, usage },
  )
  const { steps } = await run(script, { clock, prices: dollarATokenPrices, tools: [reader('Look'), tool('Write')] })
  const trajectory = trajectoryOf(steps.records)
  expect(whatIf(trajectory, { maxTurns: 1 }, { changes: ({ tool: name }) => name === 'Write' })).toEqual({
    verdict: 'stops',
    reason: 'max_turns',
    by: { limit: 'maxTurns', used: 1, max: 1 },
    isAtTheLatest: false,
    unknownFrom: null,
    toldAfterTurn: null,
    kept: { turns: 1, tokens: 110, costUsd: 110, unknownUsd: 0, activeMs: 0 },
    saved: { turns: 3, tokens: 330, costUsd: 330, unknownUsd: 0, activeMs: 0 },
    lost: { changes: { Write: 2 }, calls: 3, answer: true },
  })
  expect(whatIf(trajectory, { maxBudgetUsd: 250, maxTurns: 3 })).toMatchObject({
    reason: 'max_budget_usd',
    by: { used: 0, max: 250 },
    isAtTheLatest: false,
  })
})

test('an unfinished run is unknown beyond its record', async () => {
  const { options } = testOptions(3)
  const records = await killedAfter(14, options())
  const trajectory = trajectoryOf(records)
  expect(trajectory.ending).toBeNull()
  expect(whatIf(trajectory, { maxTurns: 500 })).toMatchObject({ verdict: 'unknown', reason: null })
  expect(whatIf(trajectory, { maxTurns: 1 })).toMatchObject({ verdict: 'stops', reason: 'max_turns' })
})

test('a turn that was interrupted during its request counts as a turn, as in the account of the run', async () => {
  const { options } = testOptions(3)
  // Under a limit the record has the reservation of a request, or that it was refused.
  for (const limits of [{}, { maxBudgetUsd: 1e6 }, { maxBudgetUsd: 0.01 }])
    for (let length = 2; length <= 14; length++) {
      const records = await killedAfter(length, { ...options(), ...limits })
      const { turns, tokens, costUsd, activeMs } = accountOf(records).totals
      expect(whatIf(trajectoryOf(records), {}).kept).toEqual({ turns, tokens, costUsd, unknownUsd: 0, activeMs })
    }
})

test('a run that inherits counters is stopped where these reach the limit', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const options = { clock, prices: dollarATokenPrices, tools: [reader('Look')] }
  const looks = Array.from({ length: 9 }, () => ({ ...calls('Look'), usage }))
  const first = await run(looks, { ...options, maxTurns: 3 })
  const start = { prompt: 'go on', transcript: first.state.transcript, carry: first.state.spent }
  const whole = trajectoryOf((await run([...looks, 'done'], options, start)).steps.records)
  for (const limits of [{ maxTurns: 5 }, { maxTotalTokens: 700 }]) {
    const { terminal } = await run(looks, { ...options, ...limits }, start)
    const said = whatIf(whole, limits)
    expect(said.reason).toBe(terminal.reason)
    expect(said.kept.costUsd + first.terminal.costUsd).toBeGreaterThanOrEqual(terminal.costUsd)
  }
  const { terminal } = await run(looks, { ...options, maxTurns: 5 }, start)
  expect(whatIf(whole, { maxTurns: 5 })).toMatchObject({ by: { used: 5 }, isAtTheLatest: false })
  const atFirst = { verdict: 'stops', reason: 'max_turns', by: { used: 3, max: 3 }, kept: { turns: 0, costUsd: 0 } }
  expect(whatIf(whole, { maxTurns: 3 })).toMatchObject(atFirst)
  expect((await run(looks, { ...options, maxTurns: 3 }, start)).terminal.summary.turns).toBe(3)
  expect(whatIf(whole, { maxTurns: 5 }).kept.costUsd + first.terminal.costUsd).toBe(terminal.costUsd)
})

test('money and time spent before the run count against the limit', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const look = reader('Look', async () => {
    await new Promise<void>((resolve) => void clock.after(20, resolve))
    return 'seen'
  })
  const options = { clock, prices: dollarATokenPrices, tools: [look] }
  const looks = Array.from({ length: 9 }, () => ({ ...calls('Look'), usage }))
  const first = await run(looks, { ...options, maxTurns: 3 })
  const carried = { prompt: 'go on', transcript: first.state.transcript, carry: first.state.spent }
  const whole = trajectoryOf((await run([...looks, 'done'], options, carried)).steps.records)
  const own: number[] = []
  const least = 330 + (whole.turns[0]?.payments[0]?.bounds?.least.tokens ?? 0)
  for (const maxBudgetUsd of [least - 1, least]) {
    const { terminal } = await run([...looks, 'done'], { ...options, maxBudgetUsd }, carried)
    const { reason, kept } = whatIf(whole, { maxBudgetUsd })
    expect([reason, kept.turns + 3, kept.costUsd + 330]).toEqual([
      terminal.reason,
      terminal.summary.turns,
      terminal.costUsd,
    ])
    own.push(kept.turns)
  }
  expect(own[0]).toBe(0)
  expect(own[1]).toBeGreaterThan(0)
  const inTime = await run([...looks, 'done'], { ...options, maxDurationMs: 110, graceMs: 0 }, carried)
  expect(whatIf(whole, { maxDurationMs: 110 })).toMatchObject({
    reason: inTime.terminal.reason,
    kept: { activeMs: inTime.terminal.durationMs - first.terminal.durationMs },
  })
  const ofSession = trajectoryOf((await run([...looks, 'done'], { ...options, spentBeforeUsd: 330 })).steps.records)
  // The earlier spending of the session leaves slightly too little for its first request.
  const firstLeast = ofSession.turns[0]?.payments[0]?.bounds?.least.tokens ?? 0
  for (const maxBudgetUsd of [329 + firstLeast, 330 + firstLeast]) {
    const { terminal } = await run([...looks, 'done'], { ...options, spentBeforeUsd: 330, maxBudgetUsd })
    const { reason, kept } = whatIf(ofSession, { maxBudgetUsd })
    expect([reason, kept.turns]).toEqual([terminal.reason, terminal.summary.turns])
  }
})

test('messages of a person in between are not repetition', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const going = begin((_request, index) => (index < 14 ? calls('Look') : 'done'), {
    clock,
    tools: [reader('Look', () => (going.loop.steer('go on'), 'seen'))],
  })
  const { steps } = await going.end()
  expect(whatIf(trajectoryOf(steps.records), { noProgress: true })).toMatchObject({
    verdict: 'same',
    toldAfterTurn: null,
  })
})

test.each([0, 1, 2, 3, 4, 5, 6, 7])(
  'messages of a person during request %i reset the count before the next turn',
  async (at) => {
    const played = async (noProgress: 'off' | 'stop') => {
      const going = begin(
        (_request, index) => {
          if (index === at) going.loop.steer('go on')
          return index < 9 ? calls('Look') : 'done'
        },
        { tools: [reader('Look')], noProgress },
      )
      return going.end()
    }
    const guarded = await played('stop')
    const { steps } = await played('off')
    const said = whatIf(trajectoryOf(steps.records), { noProgress: true })
    expect([said.reason, said.kept.turns]).toEqual([guarded.terminal.reason, guarded.terminal.summary.turns])
  },
)

test('a recorded reminder is not sent where no turn is left for it', async () => {
  const options = { tools: [reader('Look')], noProgress: 'remind' } as const
  const script = [...Array.from({ length: 4 }, () => calls('Look')), 'done']
  const { steps } = await run(script, options)
  for (const maxTurns of [2, 3, 4]) {
    const { terminal } = await run(script, { ...options, maxTurns })
    const said = whatIf(trajectoryOf(steps.records), { maxTurns })
    expect([said.reason, said.kept.turns]).toEqual([terminal.reason, terminal.summary.turns])
  }
})

describe('suggested limits', () => {
  const ended = async (script: Parameters<typeof run>[0], more: Partial<RunOptions> = {}): Promise<Trajectory> => {
    const clock = createFakeClock({ autoAdvance: true })
    const { steps } = await run(script, {
      clock,
      prices: dollarATokenPrices,
      tools: [reader('Look'), tool('Write')],
      ...more,
    } as never)
    return trajectoryOf(steps.records)
  }
  const writes = { changes: ({ tool: name }: { readonly tool: string }) => name === 'Write' }

  test('save most and lose nothing, over all runs together', async () => {
    const circling = await ended((_request, index) => ({ ...(index === 0 ? calls('Write') : calls('Look')), usage }), {
      maxTurns: 40,
    })
    const good = await ended([
      ...Array.from({ length: 5 }, (_, n) => ({ ...calls({ name: 'Write', input: { n } }), usage })),
      { text: 'ok', usage },
    ])
    const suggested = suggestLimits([circling, good], writes)
    expect(suggested).toEqual([
      {
        limits: { noProgress: true },
        saved: { turns: 34, tokens: 3_740, costUsd: 3_740, unknownUsd: 0, activeMs: 0 },
        stops: 1,
      },
      {
        limits: { maxTurns: 6 },
        saved: { turns: 34, tokens: 3_740, costUsd: 3_740, unknownUsd: 0, activeMs: 0 },
        stops: 1,
      },
      {
        limits: { maxToolCalls: 5 },
        saved: { turns: 34, tokens: 3_740, costUsd: 3_740, unknownUsd: 0, activeMs: 0 },
        stops: 1,
      },
    ])
    for (const { limits } of suggested)
      for (const trajectory of [circling, good])
        expect(whatIf(trajectory, limits, writes).lost).toMatchObject({ changes: {}, answer: false })
  })

  test.each([
    ['its answer', {}, 'done', { answer: true, changes: {} }],
    ['a change', { maxTurns: 20 }, calls('Write'), { answer: false, changes: { Write: 6 } }],
  ] as const)(
    'are none that would have lost %s to a run that came out of its circles',
    async (_what, more, then, lost) => {
      const circling = await ended(
        (_request, index) =>
          index < 14 ? { ...calls('Look'), usage } : typeof then === 'string' ? then : { ...then, usage },
        more,
      )
      expect(whatIf(circling, { noProgress: true }, writes)).toMatchObject({ verdict: 'stops', lost })
      expect(suggestLimits([circling], writes)).toEqual([])
    },
  )

  test('are empty where every run was needed to its end', async () => {
    const good = await ended([
      { ...calls('Write'), usage },
      { text: 'ok', usage },
    ])
    expect(suggestLimits([good], writes)).toEqual([])
    expect(suggestLimits([], writes)).toEqual([])
  })
})

test('a run reports dollars where one request uses up both dollars and tokens', async () => {
  const script = [
    { ...calls('Look'), usage },
    { text: 'done', usage },
  ]
  const { steps } = await run(script, { prices: dollarATokenPrices, tools: [reader('Look')] })
  expect(whatIf(trajectoryOf(steps.records), { maxTotalTokens: 120, maxBudgetUsd: 120 })).toMatchObject({
    reason: 'max_budget_usd',
    isAtTheLatest: false,
    kept: { turns: 0, costUsd: 0 },
  })
})

test('the turns of a run are those of the result: without unasked turns, with the last answer at a limit', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const options = { clock, prices: dollarATokenPrices, tools: [reader('Look')] }
  const looks = Array.from({ length: 9 }, () => ({ ...calls('Look'), usage }))
  for (const limits of [{ maxBudgetUsd: 0.01 }, { maxTotalTokens: 700 }, { maxTurns: 2, wrapUp: true }]) {
    const { terminal, steps } = await run(looks, { ...options, ...limits })
    const { verdict, kept } = whatIf(trajectoryOf(steps.records), {})
    expect({ verdict, turns: kept.turns }).toEqual({ verdict: 'same', turns: terminal.summary.turns })
  }
})
