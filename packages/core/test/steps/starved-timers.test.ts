// Tests R-STEP-15, R-STEP-15a, R-ABORT-8: a model and tools that answer at once do not prevent timers from firing.
import { describe, expect, test } from 'vitest'
import { agentTool, createMemorySteps, streamRun, query, replay, startRun, type RunOptions } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { calls, json, reader } from '../support/harness.ts'

/** More turns than any machine makes until its first timer fires, if it may. */
const maxTurns = 20_000

const endless = (): RunOptions => ({
  model: scriptedModel((_request, index) => calls({ name: 'Look', input: { index } })),
  tools: [reader('Look')],
  maxTurns,
})

const started = (options: RunOptions) => streamRun(startRun({ prompt: 'go' }), options)

describe('a model and tools that never wait', () => {
  test('do not block a time limit', async () => {
    const { reason, summary } = await started({ ...endless(), maxDurationMs: 20 }).result
    expect(reason).toBe('time_limit')
    expect(summary.turns).toBeLessThan(maxTurns)
  })

  test('do not block an abort by a timer', async () => {
    const running = started(endless())
    setTimeout(() => running.abort(), 10)
    expect((await running.result).reason).toMatch(/^aborted_/)
  })

  test('do not block a stop by a timer', async () => {
    const running = started(endless())
    setTimeout(() => running.stop('enough'), 10)
    expect((await running.result).reason).toBe('user_requested')
  })

  test("do not block a caller's signal", async () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 10)
    expect((await started({ ...endless(), signal: controller.signal }).result).reason).toMatch(/^aborted_/)
  })

  test('do not block a timer that interrupts a query', async () => {
    const messages = query({ prompt: 'go', options: endless() })
    setTimeout(() => messages.interrupt(), 10)
    let last: unknown
    for await (const message of messages) last = message
    expect(last).toMatchObject({ type: 'result', terminal_reason: expect.stringMatching(/^aborted_/) })
  })

  test('let timers fire during many parallel runs', async () => {
    const runs = Array.from({ length: 10 }, () => started({ ...endless(), maxDurationMs: 20 }).result)
    expect(new Set((await Promise.all(runs)).map(({ reason }) => reason))).toEqual(new Set(['time_limit']))
  })

  test('do not block a time limit in subagents', async () => {
    const helper = agentTool({ name: 'Helper', description: 'helps', spawn: () => ({ prompt: 'help' }) })
    const model = scriptedModel((request, index) =>
      request.messages.length === 1 && index > 0
        ? calls({ name: 'Look', input: { index } })
        : calls({ name: index === 0 ? 'Helper' : 'Look', input: { index } }),
    )
    const options = { ...endless(), model, tools: [reader('Look'), helper], maxDurationMs: 20 }
    expect((await started(options).result).reason).toBe('time_limit')
  })

  test('end the same in a replay', async () => {
    const steps = createMemorySteps()
    const options = endless()
    const { terminal } = await started({ ...options, steps, maxDurationMs: 20 }).ended
    const again = await replay(json(steps.records) as never, { ...options, maxDurationMs: 20 })
    expect(json(again.terminal)).toEqual(json(terminal))
  })
})
