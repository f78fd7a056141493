// Tests R-ABORT-10, R-ABORT-10a: many listeners on one signal.
import { describe, expect, test } from 'vitest'
import { linesIn, runProgram } from '../support/processes.ts'

/** A program that also prints how many listeners a signal has. */
const program = (code: string) => runProgram(`import { getEventListeners } from 'node:events'\n${code}`)

describe('Node prints no warning', () => {
  test('with 200 parallel calls that listen to the signal of their run, and hooks next to them', async () => {
    const end = await program(`
      let all
      let waiting = []
      const listens = tool('Listen', (_input, { signal }) => new Promise((resolve) => {
        all = signal
        signal.addEventListener('abort', resolve)
        waiting.push(() => { signal.removeEventListener('abort', resolve); resolve('heard') })
        if (waiting.length === 200) for (const each of waiting) each()
      }))
      const hears = new core.CallableHook(async (_state, { signal } = {}) => {
        signal?.addEventListener('abort', () => {}, { once: true })
      }, { triggers: ['beforeToolUse', 'afterToolUse'] })
      const { terminal } = await core.streamRun(core.startRun({ prompt: 'go' }), {
        model: testing.scriptedModel([calls(...Array(200).fill('Listen')), 'Done.']),
        tools: [listens], hooks: [hears], toolConcurrency: 200,
      }).ended
      say([terminal.reason, terminal.summary.toolResults, all === undefined])
    `)
    expect({ ...end, stdout: linesIn(end.stdout) }).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: [['completed', 200, false]],
    })
  })

  test("with 200 runs and 50 queries that follow one caller's signal, and then release it", async () => {
    const end = await program(`
      const { signal } = new AbortController()
      const listeners = () => getEventListeners(signal, 'abort').length
      const options = () => ({ model: testing.scriptedModel(['Done.']), signal })
      const runs = Array.from({ length: 200 }, () => core.streamRun(core.startRun({ prompt: 'go' }), options()).result)
      await Promise.resolve().then(() => {})
      const during = listeners()
      const reasons = new Set((await Promise.all(runs)).map(({ reason }) => reason))
      say([during, listeners(), ...reasons])
      const controller = new AbortController()
      const silent = { [Symbol.asyncIterator]: () => ({ next: never }) }
      const queries = Array.from({ length: 50 }, () => core.query({ prompt: silent, options: { ...options(), signal: controller.signal } }).next())
      await new Promise((resolve) => setTimeout(resolve, 5))
      const waiting = getEventListeners(controller.signal, 'abort').length
      controller.abort()
      say([waiting, new Set((await Promise.all(queries)).map(({ done }) => done)).size, getEventListeners(controller.signal, 'abort').length])
    `)
    expect({ ...end, stdout: linesIn(end.stdout) }).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: [
        [1, 0, 'completed'],
        [1, 1, 0],
      ],
    })
  })

  test('an abort of one signal ends all runs that follow it', async () => {
    const end = await program(`
      const controller = new AbortController()
      const runs = Array.from({ length: 50 }, () =>
        core.streamRun(core.startRun({ prompt: 'go' }), { model: testing.scriptedModel([{ hang: true }]), signal: controller.signal }).result)
      setTimeout(() => controller.abort(), 5)
      say([...new Set((await Promise.all(runs)).map(({ reason }) => reason))])
    `)
    expect({ ...end, stdout: linesIn(end.stdout) }).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: [['aborted_streaming']],
    })
  })
})
