// Tests R-HOOK-1, R-SHOOK-1, for stop hooks that share an id.
import { describe, expect, test } from 'vitest'
import { replay, resume, type RunOptions, type StopHook, type StopHookOutcome } from '../../src/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { json, run } from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

/** Two hooks with one id: the first blocks once, the second sends the person a message. */
function program(asked: string[] = []): RunOptions {
  const stopHook = (name: string, outcome: (active: boolean) => StopHookOutcome): StopHook => ({
    id: 'gate',
    handle: ({ stopHookActive }) => (asked.push(name), outcome(stopHookActive)),
  })
  return {
    model: scriptedModel((_request, index) => `answer ${index}`),
    clock: createFakeClock({ autoAdvance: true }),
    stopHooks: [
      stopHook('first', (active) => (active ? {} : { block: 'once more' })),
      stopHook('second', () => ({ systemMessage: 'seen' })),
    ],
  }
}

describe('two stop hooks with one id', () => {
  test('have separate outcomes, and a replay repeats them', async () => {
    const completeRun = await run([], program() as never)
    expect([completeRun.transitions, completeRun.terminal.reason]).toEqual([['stop_hook_blocking'], 'completed'])
    const asked: string[] = []
    const again = await replay(completeRun.steps.records, program(asked))
    expect([json(again.terminal), asked]).toEqual([json(completeRun.terminal), []])
  })

  test('are distinguished in events', async () => {
    const { events } = await run([], program() as never)
    const hookIds = events.flatMap((event) => (event.type === 'hook_end' ? [event.hook] : []))
    expect(hookIds).toEqual(['gate', 'gate#2', 'gate', 'gate#2'])
  })

  test('keep their outcomes over a resume', async () => {
    const records = await killedBefore(({ type }) => type === 'lap', program())
    const asked: string[] = []
    const { terminal, state } = await resume(records, program(asked)).loop.ended
    expect(terminal.reason).toBe('completed')
    // Both had answered in the open turn. After the iteration, each is called once.
    expect(asked).toEqual(['first', 'second'])
    expect(state.transcript.messages().map(({ content }) => content)).toContainEqual('Stop hook feedback: once more')
  })
})
