// Tests R-RES-8: an invalid record is rejected with an error that names the fix.
import { describe, expect, test } from 'vitest'
import { ConfigurationError, replay, resume, type StepRecord } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { calls, json, reader, run, type RunTestOptions } from '../support/harness.ts'

const options = (): RunTestOptions => ({
  model: scriptedModel([calls('Look'), 'done']),
  tools: [reader('Look')],
  clock: createFakeClock({ autoAdvance: true }),
})
const model = scriptedModel(['never'])

/** The error of both resume and replay; neither asks the model. */
async function refused(records: unknown): Promise<string> {
  // A file can contain anything.
  const stored = records as readonly StepRecord[]
  const messages = new Set<string>()
  expect(() => resume(stored, { ...options(), model })).toThrow(ConfigurationError)
  for (const ask of [
    async () => resume(stored, { ...options(), model }),
    () => replay(stored, { ...options(), model }),
  ])
    await ask().catch((error: Error) => messages.add(`${error.name}: ${error.message}`))
  expect(model.requests).toEqual([])
  return [...messages].join(' / ')
}

describe('an invalid record', () => {
  const noBeginning =
    "ConfigurationError: The record has no start: its first entry must be the run's own start. Pass all records of one run, in order; a run without records is started with startRun."

  test('has no beginning: nothing, a tail, or a subagent alone', async () => {
    const { steps } = await run([calls('Look'), 'done'], options())
    const records = json(steps.records) as unknown as StepRecord[]
    const [start] = records
    expect(start?.type).toBe('start')
    expect(await refused([])).toBe(noBeginning)
    expect(await refused(records.slice(1))).toBe(noBeginning)
    expect(await refused(records.toReversed())).toBe(noBeginning)
    expect(await refused([{ ...start, scope: 'agent:1:0:a/' }])).toBe(noBeginning)
  })

  test('contains more than one run', async () => {
    const { steps } = await run([calls('Look'), 'done'], options())
    const records = json(steps.records) as unknown as StepRecord[]
    expect(await refused([...records.slice(0, -1), ...records])).toBe(
      `ConfigurationError: The record has more than one run: entry ${records.length - 1} starts another. Pass the records of one run.`,
    )
  })

  test.each<[string, unknown, string]>([
    ['no list', undefined, 'The record must be a list of entries, but it is undefined.'],
    ['an object', { records: [] }, 'The record must be a list of entries, but it is an object.'],
    ['a text', '[]', 'The record must be a list of entries, but it is a string.'],
  ])('is %s', async (_what, records, message) => {
    expect(await refused(records)).toBe(`ConfigurationError: ${message}`)
  })

  test('has an invalid entry', async () => {
    const { steps } = await run([calls('Look'), 'done'], options())
    const [start, ...rest] = json(steps.records) as unknown as StepRecord[]
    const wrong = (what: string) =>
      `ConfigurationError: Entry 1 of the record ${what}. The record was damaged, or written by another version.`
    expect(await refused([start, null, ...rest])).toBe(wrong('is null'))
    expect(await refused([start, { type: 'from_the_future' }])).toBe(wrong('has an unknown type: "from_the_future"'))
    expect(await refused([start, { type: 'result', value: 1 }])).toBe(wrong('has no key'))
    expect(await refused([start, { type: 'lap', lap: { scope: '' } }])).toBe(wrong('has no lap'))
    expect(await refused([{ type: 'start', scope: '', at: 0 }])).toBe(
      wrong('has no start').replace('Entry 1', 'Entry 0'),
    )
  })
})
