// Holds rules of docs/spec: R-IF-3 to R-IF-7, R-LIM-76, R-LIM-77, R-LIM-77a: when a run is unknown under other limits, and what counts as lost.
import { describe, expect, test } from 'vitest'
import { agentTool, type RunOptions, type Permissions } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { createFakeClock } from '@halting/core/testing'
import { accountOf } from '../../src/account/account.ts'
import { suggestLimits } from '../../src/what-if/suggest-limits.ts'
import { trajectoryOf, type Trajectory } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  hanging,
  json,
  reader,
  run,
  tool,
  until,
} from '../../../core/test/support/harness.ts'

const usage = { input_tokens: 100, output_tokens: 10 }
const callReply = (...names: readonly string[]) => ({ ...calls(...names), usage })
const answerReply = (text: string) => ({ text, usage })
const agent = agentTool({
  name: 'Agent',
  description: 'a subagent',
  readOnly: true,
  spawn: () => ({ prompt: 'look around. '.repeat(100) }),
})
const writes = { changes: ({ tool: name }: { readonly tool: string }) => name === 'Write' }

/** A run with its records as a session file stores them. */
async function recordedRun(
  script: Parameters<typeof run>[0],
  given: Partial<RunOptions> = {},
  start?: Parameters<typeof run>[2],
) {
  const tools = [reader('Look'), tool('Write'), agent]
  const clock = createFakeClock({ autoAdvance: true })
  const ended = await run(script, { tools, prices: dollarATokenPrices, clock, ...given } as never, start)
  const records = json(ended.steps.records) as never as readonly StepRecord[]
  return { ...ended, records, trajectory: trajectoryOf(records) }
}

describe('a subagent', () => {
  const script = [
    callReply('Agent'),
    callReply('Look'),
    callReply('Look'),
    answerReply('seen'),
    callReply('Write'),
    answerReply('done'),
  ]

  test('may take as many turns as the run, and makes the run unknown where a limit stops it', async () => {
    const { trajectory } = await recordedRun(script)
    expect(whatIf(trajectory, { maxTurns: 3 })).toMatchObject({ verdict: 'same', reason: 'completed' })
    expect(whatIf(trajectory, { maxTurns: 2 })).toMatchObject({
      verdict: 'unknown',
      reason: null,
      unknownFrom: { turn: 1, why: 'agent' },
      saved: { turns: 0, costUsd: 0 },
    })
    // In a run that stops before it, the subagent never started.
    const later = await recordedRun([callReply('Look'), ...script])
    expect(whatIf(later.trajectory, { maxTurns: 1 })).toMatchObject({ verdict: 'stops', unknownFrom: null })
    expect(suggestLimits([trajectory], writes)).toEqual([])
  })

  test('makes the run unknown where one of its requests does not fit', async () => {
    const { trajectory } = await recordedRun(script)
    const [own, ofAgent] = trajectory.turns[0]?.payments ?? []
    const needed = ofAgent?.bounds?.least.tokens ?? 0
    expect(needed).toBeGreaterThan(own?.bounds?.least.tokens ?? Infinity)
    expect(whatIf(trajectory, { maxTotalTokens: 1e9 })).toMatchObject({ verdict: 'same', reason: 'completed' })
    expect(whatIf(trajectory, { maxTotalTokens: 109 + needed })).toMatchObject({
      verdict: 'unknown',
      unknownFrom: { turn: 1, why: 'beside' },
    })
  })
})

test('and its siblings reserve the possible cost of parallel requests at the same time', async () => {
  const { trajectory } = await recordedRun([callReply('Agent'), answerReply('seen'), answerReply('done')])
  const [first, ...rest] = trajectory.turns
  const [own, ofAgent] = first?.payments ?? []
  if (first === undefined || own === undefined || ofAgent === undefined) throw new Error('there are two payments')
  const [least, most] = [100, 200].map((tokens) => ({ tokens, nanos: 0 }))
  if (least === undefined || most === undefined) throw new Error('there are two bounds')
  const bounds = { least, most, usefulTokens: 50, capTokens: 150 }
  const asked = (beganMs: number) => ({
    ...ofAgent,
    beganMs,
    endMs: beganMs + 20,
    tokens: 110,
    outputTokens: 60,
    bounds,
  })
  const withAgents = (...moments: readonly number[]): Trajectory => ({
    ...trajectory,
    turns: [{ ...first, payments: [{ ...own, tokens: 110, bounds }, ...moments.map(asked)] }, ...rest.map(cheap)],
  })
  const cheap = (turn: (typeof rest)[number]) => ({
    ...turn,
    payments: turn.payments.map((payment) => ({
      ...payment,
      beganMs: 90,
      endMs: 99,
      tokens: 0,
      outputTokens: 0,
      bounds,
    })),
  })
  // 110 for the run and 110 for each agent; the second one needs its 200 while the first one still holds its reservation.
  const together = (maxTotalTokens: number) => whatIf(withAgents(10, 15), { maxTotalTokens }).verdict
  const inTurn = (maxTotalTokens: number) => whatIf(withAgents(10, 40), { maxTotalTokens }).verdict
  expect([together(510), inTurn(510)]).toEqual(['same', 'same'])
  expect([together(400), inTurn(430)]).toEqual(['unknown', 'same'])
})

test('a request that a time limit interrupts counts as made and is charged', async () => {
  const { trajectory } = await recordedRun([callReply('Look'), answerReply('done')])
  // The second request took from 10 ms to 30 ms.
  const [first, second] = trajectory.turns
  if (first === undefined || second === undefined) throw new Error('there are two turns')
  const [payment] = second.payments
  if (payment === undefined) throw new Error('there is a payment')
  const timed: Trajectory = {
    ...trajectory,
    turns: [first, { ...second, endMs: 30, payments: [{ ...payment, beganMs: 10, endMs: 30 }] }],
  }
  const kept = (maxDurationMs: number) => whatIf(timed, { maxDurationMs }).kept
  expect(kept(20)).toEqual({ turns: 2, tokens: 220, costUsd: 220, unknownUsd: 0, activeMs: 20 })
  // At the moment of the limit no further request is made.
  expect(kept(10)).toEqual({ turns: 1, tokens: 110, costUsd: 110, unknownUsd: 0, activeMs: 10 })
})

test('unreported usage is listed next to reported usage and counts against a budget', async () => {
  const broken = { ...callReply('Look'), streamError: { kind: 'connection', message: 'gone' } } as const
  const options = { maxBudgetUsd: 1e6 }
  const { trajectory, terminal } = await recordedRun([broken, callReply('Look'), answerReply('done')], options)
  expect(terminal.committedUsd).toBeGreaterThan(terminal.costUsd)
  const { kept } = whatIf(trajectory, {})
  expect([kept.costUsd, kept.unknownUsd]).toEqual([terminal.costUsd, terminal.committedUsd - terminal.costUsd])
  const { saved } = whatIf(trajectory, { maxTurns: 1 })
  expect([saved.costUsd, saved.unknownUsd]).toEqual([terminal.costUsd, 0])
  for (const maxBudgetUsd of [3_000, 40_000, 70_000]) {
    const live = await recordedRun([broken, callReply('Look'), answerReply('done')], { maxBudgetUsd })
    const said = whatIf(trajectory, { maxBudgetUsd })
    expect([said.reason, said.kept.turns, said.kept.costUsd + said.kept.unknownUsd]).toEqual([
      live.terminal.reason,
      live.terminal.summary.turns,
      live.terminal.committedUsd,
    ])
  }
})

describe('a record of an earlier version without possible costs', () => {
  const script = [callReply('Write'), callReply('Write'), answerReply('done')]
  const withoutBounds = ({ turns, ...rest }: Trajectory): Trajectory => ({
    ...rest,
    turns: turns.map((turn) => ({ ...turn, payments: turn.payments.map((payment) => ({ ...payment, bounds: null })) })),
  })

  test('stops at the limit at the latest, with a lower bound for savings and an upper bound for losses', async () => {
    const { trajectory } = await recordedRun(script)
    expect(whatIf(withoutBounds(trajectory), { maxBudgetUsd: 250 }, writes)).toEqual({
      verdict: 'stops',
      reason: 'max_budget_usd',
      by: { limit: 'maxBudgetUsd', used: 220, max: 250 },
      isAtTheLatest: true,
      unknownFrom: null,
      toldAfterTurn: null,
      kept: { turns: 3, tokens: 330, costUsd: 250, unknownUsd: 0, activeMs: 0 },
      saved: { turns: 0, tokens: 0, costUsd: 80, unknownUsd: 0, activeMs: 0 },
      lost: { changes: { Write: 2 }, calls: 2, answer: true },
    })
  })

  test('is unknown where the run spent less than the limit', async () => {
    const { trajectory } = await recordedRun(script)
    expect(whatIf(withoutBounds(trajectory), { maxBudgetUsd: 331 })).toMatchObject({
      verdict: 'unknown',
      reason: null,
      unknownFrom: { turn: 1, why: 'reserved' },
    })
    // With its own budget it is the same.
    const { trajectory: had } = await recordedRun(script, { maxBudgetUsd: 1e6 })
    expect(whatIf(withoutBounds(had), { maxBudgetUsd: 1e6 })).toMatchObject({ verdict: 'same', reason: 'completed' })
    // Another limit stops it there or earlier.
    expect(whatIf(withoutBounds(trajectory), { maxBudgetUsd: 331, maxTurns: 2 })).toMatchObject({
      verdict: 'stops',
      reason: 'max_turns',
      isAtTheLatest: true,
      lost: { calls: 2 },
    })
  })
})

describe('the lost calls', () => {
  test('exclude calls that were denied, of an unknown tool or never started', async () => {
    const permissions: Permissions = {
      denies: ({ call }) => (call.name === 'Forbidden' ? 'not that' : undefined),
      decide: () => ({ behavior: 'allow' }),
    }
    const tools = [reader('Look'), tool('Write'), tool('Forbidden')]
    const { trajectory } = await recordedRun(
      [callReply('Look'), callReply('Forbidden', 'Nothing', 'Write'), answerReply('done')],
      {
        tools,
        permissions,
      },
    )
    expect(whatIf(trajectory, { maxTurns: 1 }).lost).toEqual({ changes: { Write: 1 }, calls: 3, answer: true })
  })

  test('include a call that was open when the process died', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const going = begin([callReply('Look'), callReply('Hang')], { clock, tools: [reader('Look'), hanging('Hang')] })
    void going.loop.result
    await until(() => going.events.some((event) => event.type === 'tool_start' && event.name === 'Hang'))
    const trajectory = trajectoryOf(json(going.steps.records) as never)
    expect(whatIf(trajectory, { maxTurns: 1 }).lost).toEqual({ changes: { Hang: 1 }, calls: 1, answer: false })
    going.loop.abort()
    await going.end()
  })

  test('include the last answer at a limit', async () => {
    const { trajectory, terminal } = await recordedRun([callReply('Look'), callReply('Look'), answerReply('so far')], {
      maxTurns: 2,
      wrapUp: true,
    })
    expect(terminal.reason).toBe('max_turns')
    expect(whatIf(trajectory, { maxTurns: 1 }).lost.answer).toBe(true)
    expect(suggestLimits([trajectory], writes)).toEqual([])
  })

  test('include the question that waits for a person, and the call that the person allowed', async () => {
    const permissions: Permissions = {
      denies: () => undefined,
      decide: ({ call }) => (call.name === 'Write' ? { behavior: 'ask', message: 'May it?' } : { behavior: 'allow' }),
    }
    const first = await recordedRun([callReply('Look'), callReply('Write')], { permissions })
    expect(first.terminal.reason).toBe('needs_approval')
    // It waits, and has changed nothing.
    expect(whatIf(first.trajectory, { maxTurns: 1 }).lost).toEqual({ changes: {}, calls: 1, answer: true })
    expect(suggestLimits([first.trajectory], writes)).toEqual([])

    const approvals = { call_1_0: { behavior: 'allow' } } as const
    const start = { approvals, transcript: first.state.transcript, runId: 'run2' } as never
    const second = await recordedRun([callReply('Look'), callReply('Look')], { permissions, maxTurns: 3 }, start)
    expect(second.terminal.reason).toBe('max_turns')
    expect(accountOf(second.records).tools.find(({ tool: name }) => name === 'Write')).toMatchObject({
      calls: 1,
      open: 0,
    })
    expect(second.trajectory.turns[0]?.calls).toMatchObject([{ tool: 'Write', hasRun: true }])
    expect(suggestLimits([second.trajectory], writes)).toMatchObject([
      { limits: { maxTurns: 1 }, stops: 1 },
      { limits: { maxToolCalls: 1 }, stops: 1 },
    ])
  })
})

test('a limit that makes a run unknown is not suggested', async () => {
  const looks = [callReply('Look'), callReply('Look'), callReply('Look')]
  const fails = await recordedRun([callReply('Agent'), ...looks, answerReply('seen')])
  const wanders = await recordedRun(looks)
  expect([fails.terminal.reason, wanders.terminal.reason]).toEqual(['model_error', 'model_error'])
  expect(suggestLimits([wanders.trajectory], writes)).toMatchObject([
    { limits: { maxTurns: 1 } },
    { limits: { maxToolCalls: 1 } },
  ])
  expect(suggestLimits([wanders.trajectory, fails.trajectory], writes)).toEqual([])
})

test('suggested limits include what a run inherited', async () => {
  const looks = Array.from({ length: 9 }, () => callReply('Look'))
  const first = await recordedRun([callReply('Write'), ...looks], { maxTurns: 3 })
  const start = { prompt: 'go on', transcript: first.state.transcript, carry: first.state.spent, runId: 'run2' }
  const second = await recordedRun([callReply('Write'), ...looks], { maxTurns: 9 }, start)
  expect(suggestLimits([second.trajectory], writes)[0]).toMatchObject({ limits: { maxTurns: 4 }, stops: 1 })
})

test('a run that continues one with unreported cost has its own cost separately', async () => {
  const broken = { ...callReply('Look'), streamError: { kind: 'connection', message: 'gone' } } as const
  const first = await recordedRun([broken, callReply('Look'), callReply('Look')], { maxTurns: 2 })
  const start = { prompt: 'go on', transcript: first.state.transcript, carry: first.state.spent, runId: 'run2' }
  const second = await recordedRun([answerReply('done')], { maxTurns: 9 }, start)
  const { totals, carried } = accountOf(second.records)
  expect(totals.costUsd - carried.costUsd).toBe(110)
  expect(totals.committedUsd).toBe(second.terminal.committedUsd)
  // The same for the recorded part before its end.
  const open = accountOf(second.records.filter(({ type }) => type !== 'end'))
  expect([open.totals.costUsd, open.totals.committedUsd]).toEqual([totals.costUsd, totals.committedUsd])
})

describe('limits on tool calls', () => {
  test('make the rest unknown after a subagent whose share may have been too small', async () => {
    const { trajectory } = await recordedRun([
      callReply('Agent', 'Look'),
      callReply('Look'),
      answerReply('seen'),
      callReply('Look'),
      answerReply('done'),
    ])
    const calls = trajectory.turns.flatMap((turn) => turn.calls)
    expect(calls.filter(({ isOfAgent }) => isOfAgent === true)).toHaveLength(1)
    expect(whatIf(trajectory, { maxToolCalls: 3 }, writes)).toMatchObject({
      verdict: 'unknown',
      unknownFrom: { turn: 1, why: 'agent' },
    })
    expect(whatIf(trajectory, { maxToolCalls: 1 }, writes)).toMatchObject({
      verdict: 'stops',
      reason: 'max_tool_calls',
      by: { limit: 'maxToolCalls', used: 1, max: 1 },
      kept: { turns: 1 },
    })
    expect(whatIf(trajectory, { maxToolCalls: 4 }, writes)).toMatchObject({ verdict: 'same', reason: 'completed' })
  })

  test('lose the calls over the limit that changed something', async () => {
    const { trajectory } = await recordedRun([callReply('Look', 'Write', 'Write'), answerReply('done')])
    expect(whatIf(trajectory, { maxToolCalls: 2 }, writes).lost).toEqual({
      changes: { Write: 1 },
      calls: 1,
      answer: true,
    })
    expect(whatIf(trajectory, { maxToolCalls: 3 }, writes).verdict).toBe('same')
  })

  test('are unknown when wider than the limit that ended the run, and change nothing when equal', async () => {
    const { trajectory, terminal } = await recordedRun([callReply('Look', 'Look'), answerReply('done')], {
      maxToolCalls: 1,
    })
    expect(terminal.reason).toBe('max_tool_calls')
    expect(whatIf(trajectory, { maxToolCalls: 1 }, writes).verdict).toBe('same')
    expect(whatIf(trajectory, { maxToolCalls: 2 }, writes).verdict).toBe('unknown')
  })
})

test('change nothing in a run that its own dollar limit ended in the same way', async () => {
  const { trajectory, terminal } = await recordedRun([callReply('Look'), callReply('Look'), answerReply('done')], {
    maxRunUsd: 300,
  })
  expect([terminal.reason, trajectory.ending?.isOfRun]).toEqual(['max_budget_usd', true])
  expect(whatIf(trajectory, { maxBudgetUsd: 9_000 }, writes).verdict).toBe('same')
  expect(whatIf(trajectory, { maxRunUsd: 9_000 }, writes).verdict).toBe('unknown')
})
