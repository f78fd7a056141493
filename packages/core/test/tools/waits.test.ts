// Tests R-WAIT-1 to R-WAIT-4: tool calls that wait.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  noProgress,
  replay,
  resume,
  tool as makeTool,
  type AnyTool,
  type RunState,
  type StepRecord,
} from '../../src/index.ts'
import { noProgressNudge, type Clock } from '../../src/entries/steps.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  json,
  reader,
  results,
  resultTexts,
  run,
  loopMessages,
  subagent,
  until,
  type RunTestOptions,
  type Left,
} from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'

const minute = 60_000

interface Seen {
  readonly sinceMs: number
  readonly waitedMs: number
  readonly leftMs: number
}

/** A tool that waits this long, and reports what ended the wait. */
function waiting(longestMs: number, seen: Seen[] = []): AnyTool {
  return {
    ...reader('Wait', (_input, { wait, signal }) => {
      if (wait === undefined) throw new Error('it may not wait')
      const { sinceMs, waitedMs, leftMs } = wait
      seen.push({ sinceMs, waitedMs, leftMs })
      return new Promise((resolve, reject) => {
        const stop = wait.onEnd(longestMs, (endedBy) => resolve(`${endedBy} after ${wait.waitedMs}`))
        signal.addEventListener('abort', () => {
          stop()
          reject(signal.reason as Error)
        })
      })
    }),
    waits: true,
  }
}

/** A steady clock, and a separate wall clock that can be set. */
function twoClocks(wallAtFirst = 1_000_000, steady = createFakeClock()) {
  const wall = { offset: wallAtFirst }
  const clock = Object.assign(Object.create(steady) as typeof steady, { wallTime: () => steady.now() + wall.offset })
  return { steady, wall, clock: clock satisfies Clock }
}

describe('a call that waits', () => {
  test('records its start, and is over after its time', async () => {
    const { clock, steady } = twoClocks()
    const seen: Seen[] = []
    const going = begin([calls('Wait'), 'done'], { tools: [waiting(10 * minute, seen)], clock })
    await until(() => seen.length === 1)
    expect(going.steps.records.at(-1)).toMatchObject({ type: 'intent', intent: { since: 1_000_000 } })
    await steady.advance(10 * minute - 1)
    expect(going.model.requests.length).toBe(1)
    await steady.advance(1)
    const ended = await going.end()
    expect([seen, resultTexts(ended)]).toEqual([
      [{ sinceMs: 1_000_000, waitedMs: 0, leftMs: Infinity }],
      ['over after 600000'],
    ])
    expect(steady.pending).toBe(0)
  })

  test('adds nothing to other calls, on record or in their context', async () => {
    const seen: unknown[] = []
    const plain = reader('Look', (_input, context) => {
      seen.push(context.wait)
      return 'looked'
    })
    const { steps } = await run([calls('Look'), 'done'], { tools: [plain] })
    expect(seen).toEqual([undefined])
    expect(steps.records.filter((record) => record.type === 'intent' && record.key.includes('tool:'))).toEqual([
      expect.objectContaining({ intent: null }),
    ])
  })

  test('does not start while its message still streams, and runs in parallel with its neighbours', async () => {
    const { clock, steady } = twoClocks()
    const order: string[] = []
    const look = reader('Look', () => (order.push('look'), 'looked'))
    const seen: Seen[] = []
    const wait = waiting(minute, seen)
    const going = begin([calls('Wait', 'Wait', 'Look'), 'done'], { tools: [wait, look], clock })
    await until(() => seen.length === 2 && order.length === 1)
    await steady.advance(minute)
    const ended = await going.end()
    expect(resultTexts(ended)).toEqual(['over after 60000', 'over after 60000', 'looked'])
    const { records } = ended.steps
    const answered = records.findIndex(
      ({ type, ...record }) => type === 'result' && JSON.stringify(record).includes('model:1.1'),
    )
    expect(records.findIndex((record) => record.type === 'intent' && record.key.includes('tool:1:0'))).toBeGreaterThan(
      answered,
    )
  })

  test.each(['steer', 'followUp'] as const)(
    'ends when a person writes (%s), and at once when that was before',
    async (how) => {
      const { clock, steady } = twoClocks()
      const seen: Seen[] = []
      const going = begin([calls('Wait'), how === 'followUp' ? calls('Wait') : 'done', 'done', 'done'], {
        tools: [waiting(minute, seen)],
        clock,
      })
      await until(() => seen.length === 1)
      await steady.advance(7_000)
      going.loop[how]('how is it?')
      const ended = await going.end()
      // A message taken at the end is still queued when the model waits again.
      const more = how === 'followUp' ? ['arrived after 0'] : []
      expect(resultTexts(ended)).toEqual(['arrived after 7000', ...more])
    },
  )

  test('ends when a stop is requested, which ends the run', async () => {
    const { clock } = twoClocks()
    const seen: Seen[] = []
    const going = begin([calls('Wait'), 'done'], { tools: [waiting(minute, seen)], clock })
    await until(() => seen.length === 1)
    going.loop.stop('enough')
    const { terminal, ...ended } = await going.end()
    expect([terminal.reason, resultTexts(ended)]).toEqual(['user_requested', ['arrived after 0']])
  })

  test.each(['user', 'interrupt'] as const)('ends when the run is aborted (%s)', async (cause) => {
    const { clock, steady } = twoClocks()
    const seen: Seen[] = []
    const controller = new AbortController()
    const going = begin([calls('Wait'), 'done'], {
      tools: [waiting(minute, seen)],
      clock,
      signal: controller.signal,
      graceMs: 0,
    })
    await until(() => seen.length === 1)
    controller.abort(cause)
    const ended = await going.end()
    expect(results(ended)[0]?.is_error).toBe(true)
    expect(steady.pending).toBe(0)
  })

  test('leaves a tenth of the time of the run for the answer', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const seen: Seen[] = []
    const tools = [waiting(10 * minute, seen)]
    const { terminal, ...ended } = await run([calls('Wait'), 'done'], { tools, clock, maxDurationMs: minute })
    expect([terminal.reason, resultTexts(ended)]).toEqual(['completed', ['limit after 54000']])
    expect(seen[0]?.leftMs).toBe(54_000)
  })

  test('stays within what is left of the run in a subagent', async () => {
    const clock = createFakeClock({ autoAdvance: true })
    const seen: Seen[] = []
    const slow = reader('Slow', () => new Promise((resolve) => void clock.after(30_000, () => resolve('slow'))))
    const script = (_: unknown, index: number): ScriptedReply =>
      [calls('Slow'), calls('Agent'), calls('Wait')][index] ?? 'done'
    const unhurried = { ...subagent, spawn: () => ({ prompt: 'sub', maxDurationMs: 10 * minute }) }
    const tools = [slow, unhurried, waiting(10 * minute, seen)]
    const { terminal } = await run(script, { tools, clock, maxDurationMs: minute })
    expect([terminal.reason, seen[0]?.leftMs]).toEqual(['completed', 27_000])
  })

  test('receives no message in a subagent, and ends with the run', async () => {
    const { clock, steady } = twoClocks()
    const seen: Seen[] = []
    const script = (_: unknown, index: number): ScriptedReply =>
      index === 0 ? calls('Agent') : index === 1 ? calls('Wait') : 'done'
    const going = begin(script, { tools: [subagent, waiting(minute, seen)], clock })
    await until(() => seen.length === 1)
    going.loop.followUp('are you there?')
    await steady.advance(minute)
    const { events } = await going.end()
    expect(JSON.stringify(events)).toContain('over after 60000')
    expect(JSON.stringify(events)).not.toContain('arrived')
  })
})

const allOf = ({ transcript }: Pick<RunState, 'transcript'>): Left['state'] => ({ transcript, startLength: 0 })

describe('a call that waits, after a kill', () => {
  const isEndOfWait = (record: StepRecord): boolean => record.type === 'result' && record.key.includes('tool:1:0')
  const killed = async (tools: readonly AnyTool[]) => {
    const { clock } = twoClocks(1_000_000, createFakeClock({ autoAdvance: true }))
    return killedBefore(isEndOfWait, { model: scriptedModel([calls('Wait')]), tools, clock })
  }

  test('waits until the same time, and does not start the wait again', async () => {
    const records = await killed([waiting(10 * minute)])
    const { clock, steady } = twoClocks(1_000_000 + 4 * minute)
    const seen: Seen[] = []
    const tools = [waiting(10 * minute, seen)]
    const { ended } = resume(records, { model: scriptedModel(['done']), tools, clock }).loop
    await until(() => seen.length === 1)
    expect(seen).toEqual([{ sinceMs: 1_000_000, waitedMs: 4 * minute, leftMs: Infinity }])
    await steady.advance(6 * minute - 1)
    expect(steady.pending).toBeGreaterThan(0)
    await steady.advance(1)
    expect(resultTexts({ state: allOf((await ended).state) })).toEqual(['over after 600000'])
  })

  test('is over at once when its time has passed', async () => {
    const records = await killed([waiting(10 * minute)])
    const { clock } = twoClocks(1_000_000 + 24 * 60 * minute, createFakeClock({ autoAdvance: true }))
    const { ended } = resume(records, { model: scriptedModel(['done']), tools: [waiting(10 * minute)], clock }).loop
    expect(resultTexts({ state: allOf((await ended).state) })).toEqual(['over after 86400000'])
  })

  test('is answered from the record in a replay, which waits for nothing', async () => {
    const { steps } = await run([calls('Wait'), 'done'], { tools: [waiting(minute)] })
    const seen: Seen[] = []
    const again = replay(json(steps.records) as unknown as StepRecord[], {
      model: scriptedModel([]),
      tools: [waiting(minute, seen)],
    })
    expect([(await again).terminal.reason, seen]).toEqual(['completed', []])
  })

  test('waits no longer than intended in total over all processes, whatever the clocks show', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 10 * minute }),
        fc.integer({ min: -minute, max: 20 * minute }),
        async (longest, jump) => {
          const records = await killed([waiting(longest)])
          const { clock, steady } = twoClocks(1_000_000 + jump)
          const seen: Seen[] = []
          const tools = [waiting(longest, seen)]
          const { ended } = resume(records, { model: scriptedModel(['done']), tools, clock }).loop
          await until(() => seen.length === 1)
          await steady.advance(Math.max(0, longest - Math.max(0, jump)))
          expect((await ended).terminal.reason).toBe('completed')
        },
      ),
      { numRuns: 20 },
    )
  })
})

describe('the reminder of a run in a cycle', () => {
  const look = reader('Look')
  const circles = (tools: readonly AnyTool[], overrides: RunTestOptions = {}) =>
    run(() => calls('Look'), { tools, stopWhen: noProgress(), ...overrides })

  test('names the tool that waits, if there is one', async () => {
    const [with_, without] = [await circles([look, waiting(1)]), await circles([look])]
    expect(loopMessages(with_)).toEqual([['loop', expect.stringContaining('call Wait instead')]])
    expect(loopMessages(without)).toEqual([['loop', expect.stringContaining('`sleep 60`')]])
    // What-if assumes one length.
    expect(loopMessages(with_)[0]?.[1].length).toBe(noProgressNudge.length)
  })

  test('lets a run that obeys it keep waiting, and stops one whose waits return at once', async () => {
    const script = (_: unknown, index: number): ScriptedReply =>
      index < 3 ? calls('Look') : index < 23 ? calls('Wait') : 'done'
    const clock = () => createFakeClock({ autoAdvance: true })
    const heeding = await run(script, { tools: [look, waiting(minute)], stopWhen: noProgress(), clock: clock() })
    const hasty = await run(script, { tools: [look, waiting(0)], stopWhen: noProgress(), clock: clock() })
    expect([heeding.terminal.reason, hasty.terminal.reason]).toEqual(['completed', 'no_progress'])
  })
})

test('a tool either waits or asks a model', () => {
  expect(() => makeTool({ name: 'Both', description: '', waits: true, asksModel: true, execute: () => '' })).toThrow(
    'A tool has either waits or asksModel, and Both has both.',
  )
})
