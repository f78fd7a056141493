// Holds rules of docs/spec: R-WHY-1 to R-WHY-7.
import { describe, expect, test } from 'vitest'
import { agentTool, noProgress, stepLimit, StopSignal, type RunOptions, type RunResult } from '@halting/core'
import type { RecordedStep } from '../../src/account/recorded-steps.ts'
import type { StepRecord } from '@halting/core/steps'
import { createFakeClock, scriptedModel } from '@halting/core/testing'
import { accountOf, type Account } from '../../src/account/account.ts'
import { timeByPhase } from '../../src/account/time-by-phase.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  hanging,
  hook,
  json,
  reader,
  run,
  tool,
  until,
} from '../../../core/test/support/harness.ts'
import { killedAfter } from '../../../core/test/support/kill-process.ts'

const usage = { input_tokens: 100, output_tokens: 10 }
const callReply = (...names: readonly string[]) => ({ ...calls(...names), usage })

/** A setup in which every read takes 20 ms and every write 50 ms. */
function testOptions(): Pick<RunOptions, 'tools' | 'prices'> & { readonly clock: ReturnType<typeof createFakeClock> } {
  const clock = createFakeClock({ autoAdvance: true })
  const taking = (ms: number) => async () => {
    await new Promise<void>((resolve) => void clock.after(ms, resolve))
    return 'x'.repeat(ms)
  }
  return { clock, prices: dollarATokenPrices, tools: [reader('Look', taking(20)), tool('Write', taking(50))] }
}

const accountOfRun = async (
  script: Parameters<typeof run>[0],
  given: Partial<RunOptions> = {},
): Promise<{ readonly account: Account; readonly terminal: RunResult; readonly records: readonly StepRecord[] }> => {
  const { clock, ...options } = testOptions()
  const { terminal, steps } = await run(script, { ...options, clock, ...given } as never)
  // The records as a session file stores them.
  const records = json(steps.records) as never as readonly StepRecord[]
  return { account: accountOf(records), terminal, records }
}

describe('the ending of a run', () => {
  test('has its figures, its source, and how much of each limit was used', async () => {
    const { account, terminal } = await accountOfRun([callReply('Look'), callReply('Write'), 'never'], {
      maxTurns: 2,
      maxBudgetUsd: 1e9,
      maxDurationMs: 60_000,
    })
    expect(account.ending).toEqual({
      reason: 'max_turns',
      signal: json(terminal.signal),
      others: [],
      error: null,
      stillRunning: [],
    })
    expect(account.limits).toEqual([
      { limit: 'maxTurns', unit: 'turns', used: 2, max: 2, isReached: true },
      { limit: 'maxBudgetUsd', unit: 'usd', used: 220, max: 1e9, isReached: false },
      { limit: 'maxTotalTokens', unit: 'tokens', used: 220, max: null, isReached: false },
      { limit: 'maxDurationMs', unit: 'ms', used: 70, max: 60_000, isReached: false },
    ])
    expect(account.laps).toEqual([{ transition: 'next_turn', laps: 1, used: 1, allowed: null }])
  })

  test('includes guards that also fired, and which one overrode which', async () => {
    let left = 1
    const overriding = hook(
      'onStop',
      (context) => (left-- > 0 ? context.withState(context.state().withExecutionContinued()) : context),
      { id: 'stubborn' },
    )
    const { account, terminal } = await accountOfRun([callReply('Look'), 'done'], {
      hooks: [overriding],
      stopWhen: [stepLimit(1)],
    })
    expect(terminal.reason).toBe('completed')
    expect(account.overridden).toEqual([
      {
        by: 'stubborn',
        request: 2,
        signals: [expect.objectContaining({ reason: 'steps_limit', message: 'Step limit reached: 1/1' })],
      },
    ])
    expect(account.laps.map(({ transition, laps, allowed }) => [transition, laps, allowed])).toContainEqual([
      'continuation_requested',
      1,
      8,
    ])
  })

  test('names the guard that decided and the one that also fired when two fire at once', async () => {
    const { account } = await accountOfRun([callReply('Look'), 'never'], { stopWhen: [stepLimit(1), stepLimit(1)] })
    expect(account.ending?.reason).toBe('max_turns')
    expect(account.limits[0]).toEqual({ limit: 'maxTurns', unit: 'turns', used: 1, max: 1, isReached: true })
    const { account: other } = await accountOfRun([callReply('Look'), 'never'], {
      stopWhen: [stepLimit(1)],
      hooks: [
        hook('afterStep', (context) =>
          context.withState(
            context.state().withStopSignal(new StopSignal({ reason: 'stop_requested', message: 'enough' })),
          ),
        ),
      ],
    })
    expect(other.ending?.signal.message).toBe('enough')
    expect(other.ending?.others).toEqual([expect.objectContaining({ reason: 'steps_limit' })])
  })

  test('includes the repetition count of a run that repeated itself', async () => {
    const { account } = await accountOfRun(() => callReply('Look'), { stopWhen: noProgress(), maxTurns: 50 })
    expect(account.ending?.reason).toBe('no_progress')
    expect(account.limits.at(-1)).toEqual({
      limit: 'noProgress',
      unit: 'repeats',
      used: expect.any(Number),
      max: 5,
      isReached: true,
    })
    expect(account.laps).toContainEqual({ transition: 'no_progress_nudge', laps: 1, used: 1, allowed: 2 })
  })
})

describe('the breakdown', () => {
  test('adds up to the whole by phase and by tool', async () => {
    const { account, terminal } = await accountOfRun([
      callReply('Look', 'Look', 'Write'),
      callReply('Look'),
      { text: 'ok', usage },
    ])
    const sum = (figures: readonly number[]): number => figures.reduce((total, each) => total + each, 0)
    expect(account.totals).toEqual({
      turns: 3,
      requests: 3,
      tokens: 330,
      costUsd: 330,
      committedUsd: 330,
      activeMs: terminal.durationMs,
    })
    for (const parts of [account.phases, account.tools]) {
      expect(sum(parts.map(({ tokens }) => tokens))).toBe(330)
      expect(sum(parts.map(({ costUsd }) => costUsd))).toBeCloseTo(330, 6)
    }
    expect(sum(account.phases.map(({ ms }) => ms))).toBe(terminal.durationMs)
    // Two `Look` calls run in parallel: their own time is 40 ms, the run's is 20 ms.
    expect(account.phases.find(({ phase }) => phase === 'tools')?.ms).toBe(20 + 50 + 20)
    const known = { unknownTokens: 0, unknownUsd: 0 }
    expect(account.tools).toEqual([
      {
        ...known,
        tool: 'Look',
        calls: 3,
        failed: 0,
        open: 0,
        ms: 60,
        tokens: 183,
        costUsd: 183.333333333,
        resultCharacters: 60,
      },
      { ...known, tool: null, calls: 0, failed: 0, open: 0, ms: 0, tokens: 110, costUsd: 110, resultCharacters: 0 },
      {
        ...known,
        tool: 'Write',
        calls: 1,
        failed: 0,
        open: 0,
        ms: 50,
        tokens: 37,
        costUsd: 36.666666667,
        resultCharacters: 50,
      },
    ])
  })

  test('names the slowest and the most expensive steps with their subjects', async () => {
    const { account } = await accountOfRun([
      { toolCalls: [{ name: 'Write', input: { file_path: 'a.ts' } }], usage: { input_tokens: 900, output_tokens: 9 } },
      callReply('Look'),
      { text: 'ok', usage },
    ])
    expect(account.slowest.map(({ what, ms }) => [what, ms])).toEqual([
      ['Write a.ts', 50],
      ['Look', 20],
    ])
    expect(account.dearest[0]).toEqual({
      phase: 'model',
      scope: '',
      request: 1,
      what: 'scripted',
      ms: 0,
      tokens: 909,
      costUsd: 909,
      unknownUsd: 0,
    })
  })

  test('counts denied and failed calls as failed, with the cost of the request that made them', async () => {
    const { account } = await accountOfRun([callReply('Gone', 'Bad'), { text: 'ok', usage }], {
      tools: [
        tool('Bad', () => {
          throw new Error('no')
        }),
      ],
    })
    expect(account.tools.map(({ tool: name, calls: count, failed }) => [name, count, failed])).toEqual([
      [null, 0, 0],
      ['Gone', 1, 1],
      ['Bad', 1, 1],
    ])
  })

  test('attributes the spending of a subagent to the call that started it', async () => {
    const agent = agentTool({
      name: 'Agent',
      description: 'a subagent',
      readOnly: true,
      spawn: () => ({ prompt: 'look around' }),
    })
    const script = [callReply('Agent'), callReply('Look'), { text: 'seen', usage }, { text: 'ok', usage }]
    const { clock, tools, prices } = testOptions()
    const { account, terminal } = await accountOfRun(script, {
      clock,
      prices: prices ?? dollarATokenPrices,
      tools: [...(tools ?? []), agent],
    })
    expect(terminal.costUsd).toBe(440)
    const rows = new Map(account.tools.map((row) => [row.tool, row]))
    expect(rows.get('Agent')).toMatchObject({ calls: 1, failed: 0, tokens: 330, costUsd: 330, ms: 20 })
    expect(rows.get('Look')).toMatchObject({ calls: 1, tokens: 0, ms: 20 })
    expect(rows.get(null)).toMatchObject({ tokens: 110 })
  })
})

describe('phases', () => {
  const phaseOf = (account: Account, name: string) => account.phases.find(({ phase }) => phase === name)

  test('count the last answer at a limit as an ordinary model request', async () => {
    const { account } = await accountOfRun([callReply('Look'), { text: 'so far', usage }], {
      maxTurns: 1,
      wrapUp: true,
    })
    expect(account.ending?.reason).toBe('max_turns')
    expect(phaseOf(account, 'model')).toMatchObject({ requests: 2, tokens: 220, costUsd: 220 })
    expect(account.tools.find(({ tool: name }) => name === null)).toMatchObject({ tokens: 110 })
  })

  test('keep the wait before a retry out of the active time', async () => {
    const overloaded = { error: { kind: 'overloaded', message: 'busy', status: 529 } } as const
    const { account, terminal } = await accountOfRun([overloaded, { text: 'ok', usage }])
    expect(terminal.durationMs).toBeGreaterThan(0)
    expect([phaseOf(account, 'waiting')?.ms, phaseOf(account, 'other')?.ms]).toEqual([terminal.durationMs, 0])
  })

  test('count time with parallel work once, for the first step', () => {
    const step = (phase: RecordedStep['phase'], at: number, durationMs: number): RecordedStep => {
      return { phase, scope: '', name: '', request: 1, at, durationMs, isOpen: false }
    }
    expect(timeByPhase([step('tools', 5, 20), step('model', 0, 10), step('hooks', 22, 6)])).toEqual({
      model: 10,
      compaction: 0,
      tools: 15,
      hooks: 3,
      checks: 0,
      waiting: 0,
      other: 0,
    })
  })

  test('measure a call that asks a model from its start to its end', async () => {
    const { clock } = testOptions()
    const asking = {
      ...reader('Ask', async (_input, { ask }) => {
        const wait = () => new Promise<void>((resolve) => void clock.after(300, resolve))
        await wait()
        await ask?.({ system: 'Tell.', messages: [{ role: 'user', content: 'What?' }], maxOutputTokens: 100 })
        await wait()
        return 'answered'
      }),
      asksModel: true,
    }
    const { account, terminal } = await accountOfRun(
      [callReply('Ask'), { text: 'this', usage }, { text: 'ok', usage }],
      {
        clock,
        tools: [asking],
      },
    )
    expect(terminal.durationMs).toBe(600)
    expect(account.tools.find(({ tool: name }) => name === 'Ask')).toMatchObject({ calls: 1, failed: 0, ms: 600 })
  })
})

describe('an unfinished run', () => {
  test('has totals after each record that grow and never exceed the final ones', async () => {
    const script = () => [callReply('Look'), callReply('Write'), { text: 'ok', usage }] as const
    const options = (): RunOptions => ({ ...testOptions(), model: scriptedModel(script()) })
    const { account: whole, records } = await accountOfRun(script())
    let before = 0
    for (let count = 1; count < records.length; count++) {
      const account = accountOf(await killedAfter(count, options()))
      expect(account.ending).toBeNull()
      expect(account.totals.costUsd).toBeGreaterThanOrEqual(before)
      expect(account.totals.costUsd).toBeLessThanOrEqual(whole.totals.costUsd)
      expect(account.totals.activeMs).toBeLessThanOrEqual(whole.totals.activeMs)
      before = account.totals.costUsd
    }
    expect(before).toBe(330)
  })

  test('includes the open call, and the open request with its reservation', async () => {
    const { clock, ...options } = testOptions()
    const going = begin([callReply('Hang')], { ...options, clock, tools: [hanging('Hang')] })
    void going.loop.result
    await until(() => going.events.some(({ type }) => type === 'tool_start'))
    const { open, tools } = accountOf(going.steps.records)
    expect(open).toEqual([expect.objectContaining({ phase: 'tools', what: 'Hang', request: 1 })])
    expect(tools[0]).toMatchObject({ tool: 'Hang', calls: 1, open: 1, failed: 0 })
    going.loop.abort()
    await going.end()

    // Without a limit nothing is reserved, but the request may cost just as much.
    for (const limits of [{ maxBudgetUsd: 1e9 }, {}]) {
      const asking = begin([{ hang: true }], { ...options, clock, ...limits })
      void asking.loop.result
      await until(() => asking.events.some(({ type }) => type === 'model_start'))
      const account = accountOf(asking.steps.records)
      expect(account.open).toEqual([expect.objectContaining({ phase: 'model', what: 'scripted' })])
      expect(account.totals).toMatchObject({ turns: 1, requests: 0, costUsd: 0 })
      asking.loop.abort()
      const { terminal } = await asking.end()
      expect(account.totals.committedUsd).toBe(terminal.committedUsd)
      expect(account.totals.committedUsd).toBeGreaterThan(1_000)
    }
  })
})

test('counts earlier spending of the session against its budget', async () => {
  const { account } = await accountOfRun([{ text: 'ok', usage }], { maxBudgetUsd: 1e9, spentBeforeUsd: 70 })
  expect(account.limits.find(({ limit }) => limit === 'maxBudgetUsd')).toMatchObject({ used: 180, max: 1e9 })
  expect(account.totals.committedUsd).toBe(110)
})

test('does not count a granted turn as used because an earlier subagent made as many requests', async () => {
  const agent = agentTool({
    name: 'Agent',
    description: 'a subagent',
    readOnly: true,
    spawn: () => ({ prompt: 'look around' }),
  })
  const { clock, tools = [] } = testOptions()
  const script = [callReply('Agent'), callReply('Look'), { text: 'seen', usage }, { text: 'ok', usage }]
  const { records } = await accountOfRun(script, { clock, tools: [...tools, agent] })
  const lap = records.findIndex((record) => record.type === 'lap' && record.lap.scope === '')
  const { totals, limits } = accountOf(records.slice(0, lap + 1))
  expect([totals.turns, totals.requests, limits[0]?.used]).toEqual([1, 3, 1])
})

test('reports the limits that a person set during the run', async () => {
  const { clock, ...options } = testOptions()
  const going = begin([callReply('Look'), callReply('Look'), 'done'], { ...options, clock, maxTurns: 9 })
  going.loop.set({ limits: { maxTurns: 2, maxTotalTokens: null } })
  const { steps, terminal } = await going.end()
  expect(terminal.reason).toBe('max_turns')
  expect(accountOf(steps.records).limits[0]).toEqual({
    limit: 'maxTurns',
    unit: 'turns',
    used: 2,
    max: 2,
    isReached: true,
  })
})

test('names the source of its inherited counters and counts them against the turn limit', async () => {
  const { clock, ...options } = testOptions()
  const look = () => callReply('Look')
  const first = await run(look, { ...options, clock, maxTurns: 3 })
  const start = { prompt: 'go on', transcript: first.state.transcript, carry: first.state.spent }
  const tell = async (maxTurns: number) => {
    const { steps } = await run(look, { ...options, clock, maxTurns }, start)
    const { totals, carried, limits, ending } = accountOf(steps.records)
    // The account is the same before the end is recorded.
    expect(accountOf(steps.records.slice(0, -1)).totals).toEqual(totals)
    return { totals, carried, turns: limits[0], reason: ending?.reason }
  }
  const [more, none] = [await tell(5), await tell(3)]
  const carried = { turns: 3, tokens: 330, costUsd: 330, activeMs: 60 }
  expect(more).toEqual({
    totals: { turns: 5, requests: 2, tokens: 550, costUsd: 550, committedUsd: 550, activeMs: 100 },
    carried,
    turns: { limit: 'maxTurns', unit: 'turns', used: 5, max: 5, isReached: true },
    reason: 'max_turns',
  })
  expect(none).toMatchObject({ carried, totals: { turns: 3, requests: 0 }, turns: { used: 3, max: 3 } })
})

test('counts a turn against its limit once the model was asked', async () => {
  const limited = await accountOfRun(['never'], { maxBudgetUsd: 0.01 })
  expect([limited.terminal.reason, limited.account.totals.turns, limited.account.limits[0]?.used]).toEqual([
    'max_budget_usd',
    0,
    0,
  ])
  const { records } = await accountOfRun([callReply('Look'), callReply('Look'), 'done'])
  const turns = records.map((_record, index) => {
    const { totals, limits } = accountOf(records.slice(0, index + 1))
    return [totals.turns, limits[0]?.used]
  })
  for (const [reportedTurns, used] of turns) expect(used).toBe(reportedTurns)
})

test('a value that is not a record is rejected', () => {
  expect(() => accountOf([])).toThrow('The record has no start')
})
