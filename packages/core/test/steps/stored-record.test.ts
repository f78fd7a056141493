// Holds R-JOUR-4b: what is read of a record that was stored is of its type, or it is told what is not.
import { describe, expect, test } from 'vitest'
import { streamRun, startRun, tool } from '../../src/index.ts'
import { createMemorySteps, misfitOfRecord, type StepRecord } from '../../src/steps/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

async function recorded(): Promise<readonly StepRecord[]> {
  const steps = createMemorySteps()
  await streamRun(startRun({ prompt: 'go' }), {
    model: scriptedModel([{ toolCalls: [{ name: 'Look', input: {} }] }, { text: 'done' }]),
    tools: [tool({ name: 'Look', description: '', execute: () => 'seen' })],
    steps,
  }).result
  // What a driver keeps is JSON.
  return JSON.parse(JSON.stringify(steps.records)) as readonly StepRecord[]
}

/** The first record of this type with another value at a place. */
function withOther(records: readonly StepRecord[], path: string, value: unknown): unknown {
  const [type, ...names] = path.split('.')
  const record = structuredClone(records.find((each) => each.type === type))
  const last = names.pop() ?? ''
  // The record has these fields.
  const holder = names.reduce((held, name) => held[name] as never, record as never as { [name: string]: unknown })
  holder[last] = value
  return record
}

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

describe('a record that was stored', () => {
  test('of a run fits, also with fields that nobody knows', async () => {
    const records = await recorded()
    expect(records.map((record) => misfitOfRecord({ ...record, later: { field: 1 } }))).toEqual(
      records.map(() => undefined),
    )
  })

  test.each([
    ['start.type', 'begin', '.type must be one of start, intent, result, control, lap, end, rewind, stage'],
    ['start.start.run.runId', 1, 'start.run.runId must be a text, but it is a number'],
    ['start.start.added.0.message', null, 'start.added[0].message must be an object, but it is null'],
    ['start.start.limits.maxTurns', '9', 'start.limits.maxTurns must be a number, but it is a text'],
    ['start.start.answers', 5, 'start.answers must be a list, but it is a number'],
    ['start.start.answers', [{ id: 'a', name: 1 }], 'start.answers[0].name must be a text, but it is a number'],
    ['start.start.spent.startedAt', -1e308, 'start.spent.startedAt must be from -9007199254740991 to 9007199254740991'],
    ['intent.intent.nanos', 1e308, 'intent.nanos must be from 0 to 9007199254740991, but it is 1e+308'],
    ['intent.intent.tokens', -5, 'intent.tokens must be from 0 to 9007199254740991, but it is -5'],
    ['result.key', {}, 'key must be a text, but it is an object'],
    ['result.durationMs', '1', 'durationMs must be a number, but it is a text'],
    ['result.value.message.content', 'text', 'value.message.content must be a list, but it is a text'],
    ['result.value.charge.nanos', '5', 'value.charge.nanos must be a number, but it is a text'],
    ['lap.lap.transition', 'again', 'lap.transition must be a transition, but it is "again"'],
    ['lap.lap.spent.laps.inRun', { again: 1 }, 'lap.spent.laps.inRun must be a transition, but it is "again"'],
    ['lap.lap.spent.modelUsage', { m: 1 }, 'lap.spent.modelUsage["m"] must be an object, but it is a number'],
    ['end.terminal.reason', 'paid', 'terminal.reason must be the reason of an ending, but it is "paid"'],
    ['end.terminal.signal.message', 1, 'terminal.signal.message must be a text, but it is a number'],
    ['end.spent.turns', null, 'spent.turns must be a number, but it is null'],
    ['result.value.anything', nested(20_000), 'it is nested more than 400 levels deep'],
  ])('%s', async (path, value, misfit) => {
    expect(misfitOfRecord(withOther(await recorded(), path, value))).toContain(misfit)
  })

  test.each([null, 1, 'text', [], {}])('is an object with a type: %j is none', (value) => {
    expect(misfitOfRecord(value)).toBeTypeOf('string')
  })
})
