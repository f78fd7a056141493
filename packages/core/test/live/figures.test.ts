// Tests R-FIG-1 to R-FIG-8.
import { describe, expect, test } from 'vitest'
import {
  streamRun,
  replay,
  startRun,
  type AnyTool,
  type RunEvent,
  type ModelRequest,
  type Permissions,
} from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { figuresIn } from '../../src/entries/adapters.ts'
import { contextLayers } from '../../src/context/layers.ts'
import { engineOf } from '../support/engine.ts'
import { isQuestion, windowedModel } from '../support/windowed-model.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  json,
  reader,
  run,
  tool,
  until,
  type RunTestOptions,
} from '../support/harness.ts'

type Figures = Extract<RunEvent, { readonly type: 'figures' }>

const figuresOf = (events: readonly RunEvent[]): readonly Figures[] =>
  events.flatMap((event) => (event.type === 'figures' ? [event] : []))

const ofAgents = (events: readonly RunEvent[]): readonly RunEvent[] =>
  events.flatMap((event) => (event.type === 'agent' ? [event.event] : []))

const usage = { input_tokens: 100, output_tokens: 20 }
const look: ScriptedReply = { ...calls('Look'), usage }
const done: ScriptedReply = { text: 'done', usage }
const limits = { prices: dollarATokenPrices, maxBudgetUsd: 10_000, maxTotalTokens: 20_000, maxDurationMs: 60_000 }
const model = (script: Parameters<typeof scriptedModel>[0]) =>
  scriptedModel(script, { maxOutputTokens: 1_000, contextWindow: 50_000 })

const limited = (script: Parameters<typeof scriptedModel>[0], overrides: RunTestOptions = {}) =>
  run([], {
    tools: [reader('Look', 'x'.repeat(400))],
    minUsefulTokens: 1,
    ...limits,
    ...overrides,
    model: model(script),
  })

describe('the figures', () => {
  test('follow every reservation and every settlement, in dollars and in tokens', async () => {
    const { events } = await limited([look, done])
    const figures = figuresOf(events)
    const amounts = figures.map(({ reservedUsd, settledUsd, leftUsd }) => [reservedUsd > 0, settledUsd, leftUsd])
    const [first, , second] = figures
    expect(amounts).toEqual([
      [true, 0, 10_000 - first!.reservedUsd],
      [false, 120, 9_880],
      [true, 120, 9_880 - second!.reservedUsd],
      [false, 240, 9_760],
    ])
    // Each token costs a dollar, so both figures are equal.
    for (const each of figures) {
      expect([each.settledTokens, each.reservedTokens]).toEqual([each.settledUsd, each.reservedUsd])
      expect(each.leftTokens).toBe(20_000 - each.settledTokens - each.reservedTokens)
    }
  })

  test('are between the start and the end of the request', async () => {
    const { events } = await limited([done])
    const order = events.map(({ type }) => type).filter((type) => type === 'figures' || type.startsWith('model'))
    expect(order.filter((type) => type !== 'model_update')).toEqual(['model_start', 'figures', 'figures', 'model_end'])
  })

  test('are reported once per settled request without a limit, with null for no limit', async () => {
    const { events } = await run([], { model: model([look, done]), tools: [reader('Look')] })
    expect(figuresOf(events).map(({ settledTokens, reservedTokens }) => [settledTokens, reservedTokens])).toEqual([
      [120, 0],
      [240, 0],
    ])
    for (const { leftUsd, leftTokens, leftMs } of figuresOf(events))
      expect([leftUsd, leftTokens, leftMs]).toEqual([null, null, null])
  })

  test('are JSON', async () => {
    const endless = { ...model([done]), contextWindow: Infinity }
    const { events } = await run([], { model: endless })
    const figures = figuresOf(events)
    expect(figures[0]?.contextWindow).toBe(null)
    expect(json(figures)).toEqual(figures)
  })

  test('report how full the window is: estimated before, counted after', async () => {
    const { events } = await limited([look, done], { system: 's'.repeat(4_000) })
    expect(figuresOf(events).map(({ contextTokens, contextWindow }) => [contextTokens, contextWindow])).toEqual([
      // 1,000 tokens of the system prompt, 21 of the tool, and a word.
      [1_026, 50_000],
      [120, 50_000],
      // The counted tokens, the call's result of 400 characters, and the frames of both.
      [232, 50_000],
      [120, 50_000],
    ])
  })

  test('report the active time, which does not advance while the run waits for a person', async () => {
    const clock = createFakeClock()
    const script = (_request: ModelRequest, index: number): ScriptedReply => ({
      ...(index === 0 ? calls('Look') : { text: 'done' }),
      before: () => clock.advance(1_000),
    })
    const going = begin([], {
      model: model(script),
      clock,
      tools: [reader('Look')],
      maxDurationMs: 10_000,
      onAsk: 'wait',
      permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'may it?' }) },
    })
    await until(() => going.events.some(({ type }) => type === 'approval_needed'))
    const question = going.events.find((event) => event.type === 'approval_needed')
    if (question?.type !== 'approval_needed' || question.key === null) throw new Error('Nobody was asked.')
    await clock.advance(50_000)
    going.loop.answer(question.key, { behavior: 'allow' })
    const { events } = await going.end()
    expect(figuresOf(events).map(({ usedMs, leftMs }) => [usedMs, leftMs])).toEqual([
      [1_000, 9_000],
      [2_000, 8_000],
    ])
  })

  test('report zero left, and not less, when more was billed than there was', async () => {
    const { events } = await limited([{ text: 'a lot', usage: { input_tokens: 100, output_tokens: 50_000 } }])
    expect(
      figuresOf(events).map(({ leftTokens, settledTokens }) => [leftTokens! > 0, leftTokens! < 0, settledTokens]),
    ).toEqual([
      [true, false, 0],
      [false, false, 50_100],
    ])
  })

  test('are live: a replay does not emit them', async () => {
    const { events, steps } = await limited([look, done])
    expect(figuresOf(events)).toHaveLength(4)
    const replayed = await replay(steps.records, { ...limits, model: model([]), tools: [reader('Look')] })
    expect(figuresOf(replayed.events)).toEqual([])
  })

  test('are not computed without a listener', async () => {
    const asked = async (listens: boolean): Promise<number> => {
      let times = 0
      const clock = createFakeClock({ autoAdvance: true })
      const counting = { ...clock, now: () => (times++, clock.now()) }
      const running = streamRun(startRun({ prompt: 'go' }), { model: model([done]), clock: counting })
      const events = running[Symbol.asyncIterator]
      if (listens) for await (const event of { [Symbol.asyncIterator]: events }) void event
      await running.result
      return times
    }
    const [withListener, withoutListener] = [await asked(true), await asked(false)]
    // The one event of an unlimited run reads the clock once.
    expect(withListener - withoutListener).toBe(1)
  })
})

describe('with subagents', () => {
  const agent: AnyTool = {
    ...reader('Task'),
    concurrencySafe: true,
    spawn: () => ({ prompt: 'a part of it' }),
  }

  test('are those of the whole run, whichever agent reports, and are wrapped by a subagent', async () => {
    const script = ({ messages }: ModelRequest): ScriptedReply =>
      messages[0]?.content === 'a part of it'
        ? { text: 'a part', usage }
        : messages.length === 1
          ? { ...calls('Task', 'Task'), usage }
          : done
    const { events } = await run([], { ...limits, tools: [agent], minUsefulTokens: 1, model: model(script) })
    const wrapped = figuresOf(ofAgents(events))
    // Two reserve in addition to the open reservation of the other. Then one is settled after the other.
    const reserved = wrapped.map(({ reservedUsd }) => reservedUsd)
    const [one, both] = reserved
    expect(reserved).toEqual([one, 2 * one!, one, 0])
    expect(both).toBe(2 * one!)
    expect(wrapped.map(({ settledUsd }) => settledUsd)).toEqual([120, 120, 240, 360])
    expect(figuresOf(events).map(({ settledUsd }) => settledUsd)).toEqual([0, 120, 360, 480])
  })

  test('contain the time of the run, also from an agent that has less', async () => {
    const clock = createFakeClock()
    const timed: AnyTool = { ...agent, spawn: () => ({ prompt: 'a part of it', maxDurationMs: 5_000 }) }
    const script = ({ messages }: ModelRequest): ScriptedReply => {
      const before = () => clock.advance(1_000)
      if (messages[0]?.content === 'a part of it') return { text: 'a part', usage, before }
      return messages.length === 1 ? { ...calls('Task'), usage, before } : { text: 'done', usage, before }
    }
    const { events } = await run([], { tools: [timed], model: model(script), clock, maxDurationMs: 60_000 })
    expect(figuresOf(ofAgents(events)).map(({ usedMs, leftMs }) => [usedMs, leftMs])).toEqual([[2_000, 58_000]])
    const agentFigures = events.flatMap((event) => figuresIn(event) ?? [])
    expect(agentFigures.map(({ isOwn, figures }) => [isOwn, figures.settledTokens])).toEqual([
      [true, 120],
      [false, 240],
      [true, 360],
    ])
  })
})

test("contain what is left of the session's budget in an engine", async () => {
  const { engine, events } = engineOf([], {
    ...limits,
    maxBudgetUsd: 9_000,
    minUsefulTokens: 1,
    model: model(() => done),
  })
  for (let runs = 0; runs < 2; runs++) for await (const message of engine.submit('go')) void message
  expect(figuresOf(events).map(({ settledUsd, reservedUsd, leftUsd }) => [settledUsd, leftUsd! + reservedUsd])).toEqual(
    [
      [0, 9_000],
      [120, 8_880],
      [0, 8_880],
      [120, 8_760],
    ],
  )
})

describe('other live events', () => {
  test('report each attempt at a question with its cost: with the attempts of turns, that is all spending', async () => {
    const asking = windowedModel((_request, number) => (number <= 20 ? calls('Look') : 'done'), { window: 20_000 })
    const { events, terminal } = await run([], {
      model: asking,
      tools: [reader('Look', 'x'.repeat(4_000))],
      context: contextLayers({ collapse: false, clearResults: false }),
      prices: dollarATokenPrices,
    })
    const ends = events.flatMap((event) => (event.type === 'question_end' ? [event] : []))
    expect(ends[0]).toMatchObject({ attempt: 1, model: asking.id, outcome: 'answered' })
    expect(ends).toHaveLength(asking.requests.filter(isQuestion).length)
    expect(events.filter(({ type }) => type === 'question_start')).toHaveLength(ends.length)
    const turns = events.flatMap((event) => (event.type === 'model_end' ? [event.costUsd] : []))
    const amounts = [...turns, ...ends.map(({ costUsd }) => costUsd)]
    expect(amounts.reduce((sum, cost) => sum + cost, 0)).toBe(terminal.costUsd)
  })

  test('report the start of a tool, but not for a call that is denied or answered from the record', async () => {
    const running = (events: readonly RunEvent[]) => events.filter(({ type }) => type === 'tool_running')
    const permissions: Permissions = {
      denies: () => undefined,
      decide: () => ({ behavior: 'deny', message: 'no' }),
    }
    expect(running((await limited([look, done], { permissions, tools: [tool('Look')] })).events)).toEqual([])
    const { events, steps } = await limited([look, done])
    expect(running(events)).toEqual([{ type: 'tool_running', callId: 'call_0_0', name: 'Look' }])
    const again = await replay(steps.records, { tools: [reader('Look')], ...limits, model: model([]) })
    expect(running(again.events)).toEqual([])
  })
})
