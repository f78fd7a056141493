// Tests R-ABORT-8, for a run that is resumed.
import { describe, expect, test } from 'vitest'
import { resume, type RunOptions, type StepRecord } from '../../src/index.ts'
import { createFakeClock, scriptedModel, type FakeClock, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, hanging, reader } from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

/** A model whose first replies take this long, and which hangs after them. */
function slow(clock: FakeClock, replies: readonly ScriptedReply[], seconds: number) {
  return scriptedModel((_request, index): ScriptedReply => {
    const reply = replies[index]
    if (reply === undefined || typeof reply === 'string' || 'error' in reply || 'hang' in reply) return { hang: true }
    return { ...reply, before: () => clock.advance(seconds * 1_000) }
  })
}

/** The time that passes between the resume and the end of the run, in seconds. */
async function secondsLeft(records: readonly StepRecord[], overrides: Partial<RunOptions>) {
  const clock = createFakeClock({ autoAdvance: true, start: 1_000_000 })
  const model = scriptedModel(() => ({ hang: true }))
  const { terminal } = await resume(records, { model, maxDurationMs: 10_000, ...overrides, clock }).loop.ended
  return [terminal.reason, (clock.now() - 1_000_000) / 1_000, terminal.durationMs / 1_000, model.requests.length]
}

describe('a resumed run has the time that is left', () => {
  test('counts the reply of the open turn', async () => {
    const clock = createFakeClock()
    const tools = [reader('Look')]
    const options = { model: slow(clock, [calls('Look')], 8), clock, tools, maxDurationMs: 10_000 }
    const records = await killedBefore(({ type }) => type === 'lap', options)
    expect(await secondsLeft(records, { tools })).toEqual(['time_limit', 2, 10, 1])
  })

  test('counts past turns and the open one together', async () => {
    const clock = createFakeClock()
    const tools = [reader('Look')]
    const options = { model: slow(clock, [calls('Look'), calls('Look')], 4), clock, tools, maxDurationMs: 10_000 }
    let iterations = 0
    const records = await killedBefore(({ type }) => type === 'lap' && ++iterations === 2, options)
    expect(await secondsLeft(records, { tools })).toEqual(['time_limit', 2, 10, 1])
  })

  test('counts open work until it began', async () => {
    const clock = createFakeClock()
    const tools = [hanging('Hang')]
    const options = { model: slow(clock, [calls('Hang')], 7), clock, tools, maxDurationMs: 10_000 }
    const records = await killedBefore((record) => record.type === 'intent' && record.key.includes('tool'), options)
    expect(records.map(({ type }) => type)).toEqual(['start', 'intent', 'result'])
    expect(await secondsLeft(records, { tools })).toEqual(['time_limit', 3, 10, 0])
  })

  test('ends at once when its time was over on record, and keeps what it has', async () => {
    const clock = createFakeClock()
    const tools = [reader('Look')]
    const options = { model: slow(clock, [calls('Look')], 12), clock, tools, maxDurationMs: 20_000 }
    const records = await killedBefore(({ type }) => type === 'lap', options)
    // No request is made that could only be aborted, and charged.
    expect(await secondsLeft(records, { tools })).toEqual(['time_limit', 0, 12, 0])
  })

  test('does not count the time in which no process ran', async () => {
    const clock = createFakeClock({ start: 5_000_000 })
    const tools = [reader('Look')]
    const options = { model: slow(clock, [calls('Look')], 1), clock, tools, maxDurationMs: 10_000 }
    const records = await killedBefore(({ type }) => type === 'lap', options)
    expect(await secondsLeft(records, { tools })).toEqual(['time_limit', 9, 10, 1])
  })
})
