// Holds rules of docs/spec: R-FIG-1 to R-FIG-8.
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
import { begin, calls, dollarATokenPrices, json, reader, run, tool, until, type Given } from '../support/harness.ts'

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

const limited = (script: Parameters<typeof scriptedModel>[0], given: Given = {}) =>
  run([], { tools: [reader('Look', 'x'.repeat(400))], minUsefulTokens: 1, ...limits, ...given, model: model(script) })

describe('the figures', () => {
  test('come after every reservation and every settlement, in dollars and in tokens', async () => {
    const { events } = await limited([look, done])
    const told = figuresOf(events)
    const amounts = told.map(({ reservedUsd, settledUsd, leftUsd }) => [reservedUsd > 0, settledUsd, leftUsd])
    const [first, , second] = told
    expect(amounts).toEqual([
      [true, 0, 10_000 - first!.reservedUsd],
      [false, 120, 9_880],
      [true, 120, 9_880 - second!.reservedUsd],
      [false, 240, 9_760],
    ])
    // A dollar a token: what is said in one is said in the other.
    for (const each of told) {
      expect([each.settledTokens, each.reservedTokens]).toEqual([each.settledUsd, each.reservedUsd])
      expect(each.leftTokens).toBe(20_000 - each.settledTokens - each.reservedTokens)
    }
  })

  test('stand between the start and the end of the request', async () => {
    const { events } = await limited([done])
    const order = events.map(({ type }) => type).filter((type) => type === 'figures' || type.startsWith('model'))
    expect(order.filter((type) => type !== 'model_update')).toEqual(['model_start', 'figures', 'figures', 'model_end'])
  })

  test('without a limit are told once a request is settled, and say null where nothing is limited', async () => {
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
    const told = figuresOf(events)
    expect(told[0]?.contextWindow).toBe(null)
    expect(json(told)).toEqual(told)
  })

  test('tell how full the window is: estimated before, counted after', async () => {
    const { events } = await limited([look, done], { system: 's'.repeat(4_000) })
    expect(figuresOf(events).map(({ contextTokens, contextWindow }) => [contextTokens, contextWindow])).toEqual([
      // 1,000 tokens of the system prompt, 21 of the tool, and a word.
      [1_026, 50_000],
      [120, 50_000],
      // What was counted, the call's result of 400 characters, and the frames of both.
      [232, 50_000],
      [120, 50_000],
    ])
  })

  test('tell the active time: it stands still while a person is waited for', async () => {
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

  test('leave nothing where more was billed than there was, and not less than nothing', async () => {
    const { events } = await limited([{ text: 'a lot', usage: { input_tokens: 100, output_tokens: 50_000 } }])
    expect(
      figuresOf(events).map(({ leftTokens, settledTokens }) => [leftTokens! > 0, leftTokens! < 0, settledTokens]),
    ).toEqual([
      [true, false, 0],
      [false, false, 50_100],
    ])
  })

  test('are live: a replay does not tell them', async () => {
    const { events, steps } = await limited([look, done])
    expect(figuresOf(events)).toHaveLength(4)
    const replayed = await replay(steps.records, { ...limits, model: model([]), tools: [reader('Look')] })
    expect(figuresOf(replayed.events)).toEqual([])
  })

  test('are made for nobody when nobody listens', async () => {
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
    const [heard, unheard] = [await asked(true), await asked(false)]
    // The one event of an unlimited run looks at the clock once.
    expect(heard - unheard).toBe(1)
  })
})

describe('with subagents', () => {
  const agent: AnyTool = {
    ...reader('Task'),
    concurrencySafe: true,
    spawn: () => ({ prompt: 'a part of it' }),
  }

  test('they are those of the whole run, whoever tells, and come wrapped from a subagent', async () => {
    const script = ({ messages }: ModelRequest): ScriptedReply =>
      messages[0]?.content === 'a part of it'
        ? { text: 'a part', usage }
        : messages.length === 1
          ? { ...calls('Task', 'Task'), usage }
          : done
    const { events } = await run([], { ...limits, tools: [agent], minUsefulTokens: 1, model: model(script) })
    const wrapped = figuresOf(ofAgents(events))
    // Two reserve while the other's reservation stands; then one is settled after the other.
    const reserved = wrapped.map(({ reservedUsd }) => reservedUsd)
    const [one, both] = reserved
    expect(reserved).toEqual([one, 2 * one!, one, 0])
    expect(both).toBe(2 * one!)
    expect(wrapped.map(({ settledUsd }) => settledUsd)).toEqual([120, 120, 240, 360])
    expect(figuresOf(events).map(({ settledUsd }) => settledUsd)).toEqual([0, 120, 360, 480])
  })

  test('the time is that of the run, also from an agent that has less', async () => {
    const clock = createFakeClock()
    const timed: AnyTool = { ...agent, spawn: () => ({ prompt: 'a part of it', maxDurationMs: 5_000 }) }
    const script = ({ messages }: ModelRequest): ScriptedReply => {
      const before = () => clock.advance(1_000)
      if (messages[0]?.content === 'a part of it') return { text: 'a part', usage, before }
      return messages.length === 1 ? { ...calls('Task'), usage, before } : { text: 'done', usage, before }
    }
    const { events } = await run([], { tools: [timed], model: model(script), clock, maxDurationMs: 60_000 })
    expect(figuresOf(ofAgents(events)).map(({ usedMs, leftMs }) => [usedMs, leftMs])).toEqual([[2_000, 58_000]])
    const told = events.flatMap((event) => figuresIn(event) ?? [])
    expect(told.map(({ isOwn, figures }) => [isOwn, figures.settledTokens])).toEqual([
      [true, 120],
      [false, 240],
      [true, 360],
    ])
  })
})

test('in an engine what is left of the budget is left of the session', async () => {
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

describe('what else is told live', () => {
  test('each attempt at a question, with what it cost: with the attempts of turns that is all that was spent', async () => {
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
    const told = [...turns, ...ends.map(({ costUsd }) => costUsd)]
    expect(told.reduce((sum, cost) => sum + cost, 0)).toBe(terminal.costUsd)
  })

  test('that a tool begins: not of a call that is denied, and not of one that a record answers', async () => {
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
