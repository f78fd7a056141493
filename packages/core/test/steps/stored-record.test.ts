// Tests R-JOUR-4b: a stored record is validated when it is read, and the error names what is invalid.
import { describe, expect, test } from 'vitest'
import { streamRun, startRun, tool } from '../../src/index.ts'
import { createMemorySteps, validateRecord, type StepRecord } from '../../src/entries/steps.ts'
import { scriptedModel } from '../../src/testing/index.ts'

async function recorded(): Promise<readonly StepRecord[]> {
  const steps = createMemorySteps()
  await streamRun(startRun({ prompt: 'go' }), {
    model: scriptedModel([{ toolCalls: [{ name: 'Look', input: {} }] }, { text: 'done' }]),
    tools: [tool({ name: 'Look', description: '', execute: () => 'seen' })],
    steps,
  }).result
  // The step engine stores JSON.
  return JSON.parse(JSON.stringify(steps.records)) as readonly StepRecord[]
}

/** A run with a goal: sent back once, and then done. */
async function recordedGoal(): Promise<readonly StepRecord[]> {
  let checks = 0
  const steps = createMemorySteps()
  await streamRun(startRun({ prompt: 'go' }), {
    model: scriptedModel(['done', 'done now']),
    until: [{ name: 'npm test', check: () => ({ met: ++checks > 2, exitCode: 1, report: `${checks}` }) }],
    steps,
  }).result
  return JSON.parse(JSON.stringify(steps.records)) as readonly StepRecord[]
}

/** The first record of this type with another value at a path. */
function withOther(records: readonly StepRecord[], path: string, value: unknown): unknown {
  const [type, ...names] = path.split('.')
  const record = structuredClone(records.find((each) => each.type === type))
  const last = names.pop() ?? ''
  // The record has these fields.
  const holder = names.reduce((parent, name) => parent[name] as never, record as never as { [name: string]: unknown })
  holder[last] = value
  return record
}

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

describe('a stored record', () => {
  test('of a run is valid, also with unknown fields', async () => {
    const records = await recorded()
    expect(records.map((record) => validateRecord({ ...record, later: { field: 1 } }))).toEqual(
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
    expect(validateRecord(withOther(await recorded(), path, value))).toContain(misfit)
  })

  test('of a run with a goal is valid, and so is one from before goals existed', async () => {
    const records = await recordedGoal()
    expect(records.some((record) => record.type === 'result' && record.key.endsWith('goal:1:answer'))).toBe(true)
    expect(records.map(validateRecord)).toEqual(records.map(() => undefined))
  })

  const checks = [{ name: 'npm test', met: false, exitCode: 'one', durationMs: 0, tail: '' }]
  test.each([
    ['start.start.limits.maxGoalTries', '3', 'start.limits.maxGoalTries must be a number, but it is a text'],
    ['start.start.limits.maxGoalTries', 1e308, 'start.limits.maxGoalTries must be from 0 to 9007199254740991'],
    ['start.start.spent.goal.specs', [{ name: 1 }], 'start.spent.goal.specs[0].name must be a text'],
    ['start.start.spent.goal.tries', -1, 'start.spent.goal.tries must be from 0 to'],
    ['start.start.spent.goal.last', [], 'start.spent.goal.last must be an object, but it is a list'],
    ['start.start.spent.laps.triesBefore', null, 'start.spent.laps.triesBefore must be a number, but it is null'],
    ['goal.value', null, 'value must be an object, but it is null'],
    ['goal.value', { asks: 'yes' }, 'value.met must be true or false, but it is absent'],
    ['goal.value.met', 'yes', 'value.met must be true or false, but it is a text'],
    ['goal.value.checks', checks, 'value.checks[0].exitCode must be a number, but it is a text'],
    ['goal.value.tampered', 'package.json', 'value.tampered must be a list, but it is a text'],
    ['goal.value.report', { length: 1e9 }, 'value.report must be a text, but it is an object'],
    ['lap.lap.spent.goal', 'npm test', 'lap.spent.goal must be an object, but it is a text'],
    ['end.terminal.goal.met', 'maybe', 'terminal.goal.met must be true or false, but it is a text'],
    ['end.terminal.goal.checks', {}, 'terminal.goal.checks must be a list, but it is an object'],
  ])('goals: %s is rejected when it is %j', async (path, value, misfit) => {
    const records = await recordedGoal()
    const [type = '', ...names] = path.split('.')
    const isRound = (record: StepRecord): boolean => record.type === 'result' && record.key.includes('/goal:')
    const named = type === 'goal' ? records.filter(isRound) : records
    expect(validateRecord(withOther(named, [type === 'goal' ? 'result' : type, ...names].join('.'), value))).toContain(
      misfit,
    )
  })

  test('of a call is a call even if the model named it like a round of checks', async () => {
    const result = (await recorded()).find((record) => record.type === 'result' && record.key.includes('/tool:'))
    const key = 'run1/tool:1:0:x/goal:1:answer'
    expect(validateRecord({ ...result, key })).toBeUndefined()
  })

  test.each([null, 1, 'text', [], {}])('is an object with a type: %j is not', (value) => {
    expect(validateRecord(value)).toBeTypeOf('string')
  })
})
