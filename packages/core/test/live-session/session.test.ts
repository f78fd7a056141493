// Tests R-LIVE-1 to R-LIVE-7, R-LIVE-9.
import { allowAll } from '../../src/tools/permissions.ts'
import { ConfigurationError } from '../../src/values/errors.ts'
import { tool } from '../../src/tools/define-tool.ts'
import type { QueryOptions } from '../../src/api/query-options.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/scripted-model.ts'
import { expect, test } from 'vitest'
import { eventLinesWithoutMessages, looks, sessionOf, eventLines } from './support.ts'

test('a prompt starts a run, and all of it is reported in order', async () => {
  const { session, events } = sessionOf([{ text: 'Hello.' }])
  const id = session.prompt('hi', { id: 'm1' })
  expect(id).toBe('m1')
  expect(session.snapshot.status).toBe('running')
  await session.settled()
  expect(eventLines(events)).toEqual([
    'run_start run1 m1',
    'message system',
    'message assistant',
    'message result',
    'run_end completed',
  ])
  expect(session.snapshot).toMatchObject({ status: 'idle', queue: [], canResume: true, last: { reason: 'completed' } })
  await session.close()
  expect(events.at(-1)).toEqual({ type: 'closed' })
})

const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => 'seen' })

test('a message during a run is taken by it; one that is too late starts the next', async () => {
  const { session, events } = sessionOf([looks, { text: 'One.' }, { text: 'Two.' }], { tools: [look] })
  session.listen((event) => {
    if (event.type === 'loop' && event.event.type === 'tool_start') session.prompt('and this', { id: 'steer' })
    if (event.type === 'message' && event.message.type === 'result' && event.message.num_turns === 2)
      session.prompt('late', { id: 'late' })
  })
  session.prompt('go', { id: 'first' })
  await session.settled()
  expect(eventLinesWithoutMessages(events)).toEqual([
    'run_start run1 first',
    'taken steer 2',
    'run_end completed',
    'run_start run2 late',
    'run_end completed',
  ])
})

test('a call that a person has to allow waits for the answer, and is withdrawn by an interruption', async () => {
  const permissions = { ...allowAll, decide: () => ({ behavior: 'ask', message: 'Really?' }) as const }
  const { session, events } = sessionOf(
    [looks, { text: 'One.' }, looks],
    { tools: [look], permissions },
    { answersQuestions: true },
  )
  const answered = session.listen((event) => {
    if (event.type !== 'question') return
    expect(session.snapshot).toMatchObject({ status: 'requires_action', activity: { type: 'question' } })
    expect(session.answer(event.question.id, { behavior: 'allow' })).toBe(true)
    expect(session.answer(event.question.id, { behavior: 'allow' })).toBe(false)
  })
  session.prompt('go')
  await session.settled()
  answered()
  session.listen((event) => {
    if (event.type === 'question') session.interrupt()
  })
  session.prompt('again')
  await session.settled()
  expect(eventLinesWithoutMessages(events)).toEqual([
    'run_start run1 message1',
    'question Look',
    'question_closed answered',
    'run_end completed',
    'run_start run2 message2',
    'question Look',
    'question_closed withdrawn',
    'run_end aborted_tools',
  ])
})

test('listeners of the start or end of a run see whether there is something to resume', async () => {
  const { session } = sessionOf([looks, { text: 'Done.' }], { tools: [look], maxTurns: 1 })
  const seen: string[] = []
  session.listen((event) => {
    if (event.type === 'run_start' || event.type === 'run_end') seen.push(`${event.type} ${session.snapshot.canResume}`)
  })
  session.prompt('go')
  await session.settled()
  expect(seen).toEqual(['run_start false', 'run_end true'])
})

test('a run that ended at a limit continues with other limits, and its figures count once', async () => {
  const { session } = sessionOf([looks, looks, { text: 'Done.' }], { tools: [look], maxTurns: 1 })
  session.prompt('go')
  await session.settled()
  expect(session.snapshot).toMatchObject({ last: { reason: 'max_turns' }, canResume: true, figures: { turns: 1 } })
  session.resume({ maxTurns: 5 })
  await session.settled()
  expect(session.snapshot.last?.reason).toBe('completed')
  expect(session.snapshot).toMatchObject({ limits: { maxTurns: 5 }, figures: { turns: 3 } })
})

test('an interruption ends the run like a person would and keeps the partial reply; queued messages start the next run', async () => {
  const { session, events } = sessionOf([{ hang: true, text: 'As far as' }, { text: 'Next.' }])
  const stop = session.listen((event) => {
    if (event.type !== 'loop' || event.event.type !== 'model_update') return
    stop()
    session.prompt('waits', { id: 'second', when: 'later' })
    const waits = { id: 'second', content: 'waits', when: 'later' }
    expect(session.interrupt()).toEqual({ wasRunning: true, stillQueued: [waits], givenBack: [] })
  })
  session.prompt('go', { id: 'first' })
  await session.settled()
  expect(eventLinesWithoutMessages(events)).toEqual([
    'run_start run1 first',
    'run_end aborted_streaming',
    'run_start run2 second',
    'run_end completed',
  ])
  const messages = events.flatMap((event) => (event.type === 'message' ? [event.message] : []))
  expect(messages.slice(1, 4)).toMatchObject([
    { type: 'assistant', aborted: true, message: { content: [{ type: 'text', text: 'As far as' }] } },
    { type: 'user', message: { content: [{ type: 'text', text: '[Request interrupted by user]' }] } },
    { type: 'result', subtype: 'error_during_execution' },
  ])
})

test('queued messages are returned on request, and no run takes them', async () => {
  const { session, events } = sessionOf([{ hang: true }])
  session.prompt('go')
  session.prompt('steer', { id: 'a' })
  session.prompt('follow up', { id: 'b', when: 'later' })
  session.prompt('/compact', { id: 'c' })
  expect(session.snapshot.queue.map(({ id, when }) => [id, when])).toEqual([
    ['c', 'next'],
    ['a', 'next'],
    ['b', 'later'],
  ])
  expect(session.retract('b')).toBe(true)
  expect(session.retract('b')).toBe(false)
  expect(session.interrupt({ queue: 'give_back' }).givenBack.map(({ id }) => id)).toEqual(['c', 'a'])
  await session.settled()
  expect(eventLinesWithoutMessages(events)).toEqual(['run_start run1 message1', 'run_end aborted_streaming'])
  expect(session.interrupt()).toEqual({ wasRunning: false, stillQueued: [], givenBack: [] })
})

test('an urgent message ends the run and starts the next one', async () => {
  const { session, events } = sessionOf([{ hang: true }, { text: 'Yes.' }])
  session.listen((event) => {
    if (event.type === 'loop' && event.event.type === 'model_start' && event.event.request === 1)
      session.prompt('this instead', { id: 'now', when: 'now' })
  })
  session.prompt('go', { id: 'first' })
  await session.settled()
  expect(eventLinesWithoutMessages(events).slice(0, 2)).toEqual(['run_start run1 first', 'run_end aborted_streaming'])
  expect(eventLinesWithoutMessages(events).slice(2)).toEqual(['run_start run2 now', 'run_end completed'])
})

test('a setting applies from the next request on, and an invalid one is rejected and changes nothing', async () => {
  const other = scriptedModel([{ text: 'I am the other one.' }], { id: 'other' })
  const named = scriptedModel([{ text: 'I was made by my name.' }], { id: 'named-1' })
  const modelNamed: QueryOptions['modelNamed'] = (name) => (name === 'named' ? named : undefined)
  const { session, events } = sessionOf([looks], { tools: [look], models: [other], modelNamed })
  const before = session.snapshot
  expect(() => session.set({ model: 'nobody' })).toThrow(ConfigurationError)
  expect(() => session.set({ limits: { maxTurns: 0 } })).toThrow(ConfigurationError)
  expect(session.snapshot).toEqual(before)
  const stop = session.listen((event) => {
    if (event.type === 'loop' && event.event.type === 'tool_start')
      session.set({ model: 'other', limits: { maxTurns: 9 } })
  })
  session.prompt('go')
  await session.settled()
  stop()
  expect(session.snapshot).toMatchObject({ model: 'other', limits: { maxTurns: 9 } })
  session.set({ model: 'named' })
  expect(session.snapshot.model).toBe('named-1')
  session.prompt('and you?')
  await session.settled()
  const answers = events.flatMap((event) =>
    event.type === 'message' && event.message.type === 'result' && 'result' in event.message
      ? [event.message.result]
      : [],
  )
  expect(answers).toEqual(['I am the other one.', 'I was made by my name.'])
  session.set({ model: null })
  expect(session.snapshot.model).toBe('scripted')
})

test('a conversation is compacted in a run of its own, after the current run', async () => {
  const { session, events } = sessionOf(() => ({ text: 'A long answer. '.repeat(2_000) }), {}, {})
  expect(() => session.compact()).toThrow('There is no conversation to compact yet.')
  for (let number = 0; number < 4; number++) {
    session.prompt('go')
    await session.settled()
  }
  session.prompt('once more', { id: 'last' })
  session.compact('keep the names')
  session.prompt('behind it', { id: 'behind' })
  await session.settled()
  expect(eventLinesWithoutMessages(events).slice(8)).toEqual([
    'run_start run5 last',
    'taken behind 1',
    'run_end completed',
    'run_start run6 ',
    'run_end completed',
  ])
  expect(eventLines(events).slice(-5)).toContain('message system')
})

test('a run that cannot begin reports the message that it would have begun with, and the next one begins', async () => {
  const { session, events } = sessionOf([{ text: 'Yes.' }])
  session.prompt('/compact', { id: 'c' })
  session.prompt('hi', { id: 'm' })
  await session.settled()
  expect(eventLinesWithoutMessages(events)).toEqual(['failed', 'run_start run2 m', 'run_end completed'])
  expect(events.find(({ type }) => type === 'failed')).toMatchObject({ givenBack: [{ id: 'c', content: '/compact' }] })
})

test('the end of a session interrupts the current run, closes each resource once, and emits nothing after it', async () => {
  let ends = 0
  const end = async (): Promise<void> => void ends++
  const { session, events } = sessionOf([{ hang: true }], {}, { end })
  session.prompt('go')
  session.prompt('waits', { id: 'waits', when: 'later' })
  await Promise.all([session.close(), session.close()])
  expect(eventLinesWithoutMessages(events)).toEqual(['run_start run1 message1', 'run_end aborted_streaming', 'closed'])
  expect(ends).toBe(1)
  expect(session.snapshot).toMatchObject({ status: 'closed', queue: [{ id: 'waits' }], canResume: false })
  expect(() => session.prompt('more')).toThrow('The session is closed.')
  expect(session.retract('waits')).toBe(true)
})

test('an error of a listener is ignored, and a removed listener is not called again', async () => {
  const { session, events } = sessionOf([{ text: 'Yes.' }])
  let calls = 0
  const stop = session.listen(() => {
    calls++
    stop()
    throw new Error('mine')
  })
  session.prompt('go')
  await session.settled()
  expect(calls).toBe(1)
  expect(eventLinesWithoutMessages(events).at(-1)).toBe('run_end completed')
})

test('reports figures, the next stop and the content of the window', async () => {
  const usage = { input_tokens: 1_000, output_tokens: 100 }
  const looking = { toolCalls: [{ name: 'Look', input: {} }] }
  const replies: readonly ScriptedReply[] = [
    { ...looking, usage },
    { ...looking, usage },
    { text: 'Done.', usage },
  ]
  const prices: NonNullable<QueryOptions['prices']> = {
    cost: (_model, { input_tokens, output_tokens }) => (input_tokens + output_tokens) / 100_000,
    worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 100_000,
  }
  const { session } = sessionOf(replies, { tools: [look], prices, maxBudgetUsd: 5, maxTurns: 40 })
  const stops: unknown[] = []
  session.listen((event) => {
    if (event.type === 'loop' && event.event.type === 'turn_start') stops.push(session.snapshot.nextStop)
  })
  session.prompt('go')
  await session.settled()
  const { figures, nextStop } = session.snapshot
  expect(figures).toMatchObject({
    turns: 3,
    settledUsd: 0.033,
    sessionUsd: 0.033,
    reservedUsd: 0,
    settledTokens: 3_300,
  })
  expect(figures.leftUsd).toBeCloseTo(4.967)
  expect(stops[0]).toEqual({ reason: 'max_turns', turns: 39, isEstimate: false })
  expect(nextStop).toEqual({ reason: 'max_turns', turns: 37, isEstimate: false })
  session.set({ limits: { maxBudgetUsd: 0.05 } })
  expect(session.snapshot.figures.leftUsd).toBeCloseTo(0.017)
  expect(session.snapshot.nextStop).toEqual({ reason: 'max_budget_usd', turns: 1, isEstimate: true })
  const { categories, totalTokens } = await session.contextUsage()
  expect(categories.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(totalTokens)
  expect(totalTokens).toBeGreaterThan(0)
})

test('a command that ends between runs changes the session', async () => {
  const listeners = new Set<() => void>()
  const background: NonNullable<QueryOptions['background']> = {
    atEnd: 'keep',
    waitMs: 1_000,
    running: () => [],
    ended: () => [],
    markReported: () => undefined,
    knows: () => false,
    fateOf: () => undefined,
    onEnd(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    leave: () => [],
  }
  const { session, events } = sessionOf([{ text: 'Hello.' }], { background })
  session.prompt('hi')
  await session.settled()
  await Promise.resolve()
  const [before, eventsBefore] = [session.snapshot, events.length]
  for (const listener of listeners) listener()
  await Promise.resolve()
  expect(session.snapshot).not.toBe(before)
  expect(events.slice(eventsBefore)).toEqual([{ type: 'changed' }])
  await session.close()
  expect(listeners.size).toBe(0)
})

test('distinguishes a stage that breaks from a run that breaks (R-LIVE-3a)', async () => {
  const afterRun = () => Promise.reject(new Error('The stage broke.'))
  const { session, events } = sessionOf(['Yes.'], {}, { afterRun })
  session.prompt('Go.')
  await session.settled()
  expect(events.filter(({ type }) => type === 'failed')).toMatchObject([{ givenBack: [], isAfterRun: true }])
  await session.close()
})

test('a prompt with skipIfMet ends its run without a request when the goals hold, and does not affect later runs', async () => {
  const until = [{ name: 'npm test', check: () => ({ met: true, exitCode: 0 }) }]
  const { session, events } = sessionOf(['One.', 'Two.'], { until })
  for (const own of [{ id: 'first' }, { id: 'second', skipIfMet: true }, { id: 'third' }]) {
    session.prompt('go', own)
    await session.settled()
  }
  const ended = events.flatMap((event) => (event.type === 'run_end' ? [event.terminal] : []))
  expect(ended.map(({ reason, summary }) => [reason, summary.requests])).toEqual([
    ['completed', 1],
    ['completed', 0],
    ['completed', 1],
  ])
})

test('skipIfMet of a queued message belongs to the run that it starts', async () => {
  const until = [{ name: 'npm test', check: () => ({ met: true, exitCode: 0 }) }]
  const { session, events } = sessionOf(['One.', 'Two.'], { until })
  session.prompt('go', { id: 'first' })
  session.prompt('go on', { id: 'second', when: 'later', skipIfMet: true })
  expect(session.snapshot.queue).toMatchObject([{ id: 'first' }, { id: 'second', skipIfMet: true }].slice(-1))
  await session.settled()
  expect(events.filter(({ type }) => type === 'run_end').length).toBeGreaterThan(0)
})
