// Tests R-LAP-9, R-END-7: the figures of a run.
import { expect, test } from 'vitest'
import { createFakeClock, type ScriptedReply } from '../../src/testing/index.ts'
import { begin, calls, dollarATokenPrices, hook, reader, run, tool, type RunningRun } from '../support/harness.ts'

test('apiMs is the time of all requests, and durationMs that of everything', async () => {
  const clock = createFakeClock()
  const lasting = (ms: number, reply: Exclude<ScriptedReply, string>): ScriptedReply => ({
    ...reply,
    before: () => clock.advance(ms),
  })
  const { terminal } = await run(
    [lasting(100, calls('Write')), lasting(250, calls('Write')), lasting(30, { text: 'x' })],
    {
      clock,
      tools: [tool('Write', async () => (await clock.advance(1_000), 'written'))],
    },
  )
  expect([terminal.reason, terminal.summary.apiMs, terminal.durationMs]).toEqual(['completed', 380, 2_380])
})

test('parallel calls take the time of the longest', async () => {
  const clock = createFakeClock({ autoAdvance: true })
  const lasting = (name: string, ms: number) =>
    reader(name, async () => {
      await new Promise<void>((resolve) => void clock.after(ms, resolve))
      return name
    })
  const tools = [lasting('Short', 1_000), lasting('Long', 5_000), lasting('Middle', 3_000)]
  const { terminal } = await run([calls('Short', 'Long', 'Middle')], { clock, tools, maxTurns: 1 })
  expect([terminal.reason, terminal.durationMs]).toEqual(['max_turns', 5_000])
})

test('an attempt that was aborted before it was made is no turn and no request, and costs nothing', async () => {
  const going: RunningRun = begin(['never'], {
    hooks: [hook('beforeInference', () => going.loop.abort())],
    prices: dollarATokenPrices,
  })
  const { terminal, model } = await going.end()
  const { turns, requests, apiMs } = terminal.summary
  expect([terminal.reason, model.requests.length, terminal.committedUsd]).toEqual(['aborted_streaming', 0, 0])
  expect({ turns, requests, apiMs }).toEqual({ turns: 0, requests: 0, apiMs: 0 })
})
