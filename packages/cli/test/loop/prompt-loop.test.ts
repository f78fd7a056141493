// Holds R-EVERY-2 to R-EVERY-9 for the engine of loops, with a clock and a session of the test.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LoopClock } from '../../src/frontends/loop-clock.ts'
import type { LoopRound } from '../../src/frontends/loop-end.ts'
import { FakeLoopClock, FakeRecord, type FakeRun, FakeSession, loopId, loopOver } from './fake-loop.ts'

const minute = 60_000

function fixture(runs: readonly FakeRun[], hasGoal = false) {
  const clock = new FakeLoopClock()
  let next = 0
  const session = new FakeSession(clock, () => runs[next++ % runs.length] ?? { ms: 1 }, new FakeRecord(), hasGoal)
  return { clock, session }
}

test('starts each round one interval after the start of the previous one, and ends when all rounds are done', async () => {
  const { clock, session } = fixture([{ ms: 1_000 }])
  const { loop, events } = loopOver(session, { terms: { everyMs: minute, rounds: 3 } })
  loop.begin()
  await clock.advance(10 * minute)
  expect(session.prompts.map(({ at }) => at)).toEqual([0, minute, 2 * minute])
  expect(events.at(-1)).toMatchObject({ type: 'end', end: { because: 'rounds', exitCode: 0 } })
  expect(clock.timers).toBe(0)
})

test('starts at once after a round that took longer than the interval, and skips missed rounds', async () => {
  const { clock, session } = fixture([{ ms: 3.5 * minute }, { ms: 1 }, { ms: 1 }])
  const { loop } = loopOver(session, { terms: { everyMs: minute, rounds: 3 } })
  loop.begin()
  await clock.advance(10 * minute)
  expect(session.prompts.map(({ at }) => at)).toEqual([0, 3.5 * minute, 4.5 * minute])
})

test("lets a user's run end before the next round starts", async () => {
  const { clock, session } = fixture([{ ms: 1 }])
  const { loop } = loopOver(session, { terms: { everyMs: minute, rounds: 2 } })
  loop.begin()
  await clock.advance(minute - 1)
  session.person({ ms: 5_000 })
  await clock.advance(minute)
  expect(session.prompts.map(({ at }) => at)).toEqual([0, minute + 4_999])
})

test('checks the goal without a request before each round but the first', async () => {
  const { clock, session } = fixture([{ ms: 1, reason: 'goal_unmet', goalMet: false }], true)
  const { loop } = loopOver(session, { terms: { everyMs: 0, rounds: 3 } })
  loop.begin()
  await clock.advance(minute)
  expect(session.prompts.map(({ skipIfMet }) => skipIfMet)).toEqual([undefined, true, true])
})

test('ends as done after the round that met the goal', async () => {
  const unmet: FakeRun = { ms: 1, reason: 'goal_unmet', goalMet: false }
  const { clock, session } = fixture([unmet, unmet, { ms: 1, goalMet: true, requests: 0 }], true)
  const { loop, events } = loopOver(session, { terms: { everyMs: minute } })
  loop.begin()
  await clock.advance(10 * minute)
  expect(session.prompts).toHaveLength(3)
  expect(events.at(-1)).toMatchObject({ type: 'end', end: { because: 'goal_met', exitCode: 0 } })
})

test.each([
  ['rounds', { everyMs: minute, rounds: 2 }],
  ['time', { everyMs: minute, forMs: 2 * minute }],
] as const)('ends with 6 if %s are over and the goal is not met', async (because, terms) => {
  const { clock, session } = fixture([{ ms: 1, reason: 'goal_unmet', goalMet: false }], true)
  const { loop, events } = loopOver(session, { terms })
  loop.begin()
  await clock.advance(10 * minute)
  expect(session.prompts).toHaveLength(2)
  expect(events.at(-1)).toMatchObject({ type: 'end', end: { because, exitCode: 6 } })
})

test('does not interrupt a round when the time is over, and uses the exit code of that round', async () => {
  const { clock, session } = fixture([{ ms: 5 * minute, reason: 'max_turns' }])
  const { loop, events } = loopOver(session, { terms: { everyMs: 0, forMs: minute } })
  loop.begin()
  await clock.advance(10 * minute)
  expect(events.filter(({ type }) => type === 'round_end')).toMatchObject([{ round: { reason: 'max_turns' } }])
  expect(events.at(-1)).toMatchObject({ type: 'end', end: { because: 'time', exitCode: 3 } })
})

test('ends as soon as no further round can start in its time, without waiting', async () => {
  const { clock, session } = fixture([{ ms: 1, reason: 'completed' }])
  const { loop, events } = loopOver(session, { terms: { everyMs: 10 * minute, forMs: 5 * minute } })
  loop.begin()
  await clock.advance(minute)
  expect(events.at(-1)).toMatchObject({ type: 'end', end: { because: 'time', exitCode: 0 } })
  expect([events.some(({ type }) => type === 'wait'), clock.timers]).toEqual([false, 0])
})

test.each<[string, FakeRun, number]>([
  ['calls that wait for a person', { ms: 1, reason: 'needs_approval' }, 1],
  ['a hook that ends the run', { ms: 1, reason: 'hook_stopped' }, 1],
  ['a key that the service refuses', { ms: 1, reason: 'model_error', context: { kind: 'authentication_failed' } }, 1],
  ['the budget of the session', { ms: 1, reason: 'max_budget_usd' }, 1],
  ['a person', { ms: 1, reason: 'aborted_tools' }, 1],
  ['three rounds in a row with the same error', { ms: 1, reason: 'model_error', context: { kind: 'overloaded' } }, 3],
  ['three rounds in a row that asked nothing', { ms: 1, reason: 'stop_requested', requests: 0 }, 3],
  ['the rounds, after limits of each', { ms: 1, reason: 'max_turns' }, 7],
  ['the rounds, after the dollar limit of each', { ms: 1, reason: 'max_budget_usd', context: { of: 'run' } }, 7],
])('ends at %s', async (_by, run, rounds) => {
  const { clock, session } = fixture([run])
  const { loop, events } = loopOver(session, { terms: { everyMs: 0, rounds: 7 } })
  loop.begin()
  await clock.advance(minute)
  expect(session.prompts).toHaveLength(rounds)
  expect(events.at(-1)).toMatchObject({ type: 'end' })
  expect(events.at(-1)).not.toMatchObject({ end: { exitCode: 0 } })
})

test('continues after errors that differ', async () => {
  const failed = (kind: string): FakeRun => ({ ms: 1, reason: 'model_error', context: { kind } })
  const { clock, session } = fixture([failed('overloaded'), failed('overloaded'), failed('timeout'), { ms: 1 }])
  const { loop } = loopOver(session, { terms: { everyMs: 0, rounds: 8 } })
  loop.begin()
  await clock.advance(minute)
  expect(session.prompts).toHaveLength(8)
})

test.each([
  ['said when it takes requests again', 5 * minute, 5 * minute],
  ['named a moment before the next round', 1_000, minute],
  ['named a moment in the past', -1e9, minute],
  ['named a moment a year away', 365 * 24 * 60 * minute, minute],
])('waits for a service that %s', async (_what, retryInMs, nextAt) => {
  const { clock, session } = fixture([
    { ms: 0, reason: 'model_error', context: { kind: 'rate_limit' }, retryInMs },
    { ms: 0 },
  ])
  const { loop } = loopOver(session, { terms: { everyMs: minute, rounds: 2 } })
  loop.begin()
  await clock.advance(10 * minute)
  expect(session.prompts.map(({ at }) => at)).toEqual([0, nextAt])
})

test('waits for a standing budget to reset', async () => {
  const resetsAt = new Date(Date.UTC(2026, 0, 1) + 5 * minute).toISOString()
  const { clock, session } = fixture([
    { ms: 0, reason: 'max_budget_usd', requests: 0, context: { budget: '$20 a day', resetsAt } },
    { ms: 0 },
  ])
  const { loop } = loopOver(session, { terms: { everyMs: minute, rounds: 2 } })
  loop.begin()
  await clock.advance(10 * minute)
  expect(session.prompts.map(({ at }) => at)).toEqual([0, 5 * minute])
})

test('pauses when a user ends a round, and continues on request', async () => {
  const { clock, session } = fixture([{ ms: minute }])
  const { loop, events } = loopOver(session, { terms: { everyMs: 2 * minute, rounds: 3 }, onInterrupt: 'pause' })
  loop.begin()
  await clock.advance(1_000)
  session.interrupt()
  await clock.advance(20 * minute)
  expect([session.prompts.length, loop.view.phase, clock.timers]).toEqual([1, 'paused', 0])
  loop.resume()
  await clock.advance(20 * minute)
  expect(session.prompts).toHaveLength(3)
  expect(events.at(-1)).toMatchObject({ type: 'end', end: { because: 'rounds' } })
})

test('reports a prompt that cannot be prepared, and starts nothing', async () => {
  const { clock, session } = fixture([{ ms: 1 }])
  const error = new Error('there is no such file')
  const { loop, events } = loopOver(session, { terms: { everyMs: 0, rounds: 3 }, prompt: () => Promise.reject(error) })
  loop.begin()
  await clock.advance(minute)
  expect(events).toEqual([{ type: 'broken', error }])
  expect([session.prompts.length, clock.timers]).toEqual([0, 0])
})

test('uses one timer while it waits, and reads the clock at most twice a minute', async () => {
  const { clock, session } = fixture([{ ms: 1 }])
  let timers = 0
  const counting: LoopClock = {
    now: () => clock.now(),
    wallMs: () => clock.wallMs(),
    after(ms: number, callback: () => void) {
      timers += 1
      return clock.after(ms, callback)
    },
  }
  const { loop } = loopOver(session, { terms: { everyMs: 60 * minute, rounds: 2 }, clock: counting })
  loop.begin()
  await clock.advance(1_000)
  expect(clock.timers).toBe(1)
  await clock.advance(60 * minute)
  expect(timers).toBe(120)
})

/** Events of a loop: time passes, a user writes, somebody sets the clock, the process is killed and restarted later. */
const happenings = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.nat(90_000) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('person' as const), ms: fc.nat(90_000) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('clock' as const), ms: fc.integer({ min: -1e7, max: 1e7 }) }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('kill' as const), ms: fc.nat(90_000) }) },
  ),
  { maxLength: 40 },
)

test('runs each round once, one at a time, never early and never past its bound, wherever its process is killed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 60_000 }),
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.nat(120_000), { minLength: 1, maxLength: 5 }),
      happenings,
      async (everyMs, rounds, lengths, happened) => {
        const clock = new FakeLoopClock()
        const record = new FakeRecord()
        let next = 0
        const starts: { readonly at: number; readonly id: string }[] = []
        let isWallSet = false
        const startedAtMs = clock.wallMs()
        const open = () => {
          const session = new FakeSession(clock, () => ({ ms: lengths[next++ % lengths.length] ?? 0 }), record)
          // It throws while a run is active: there are never two.
          const past = record.past(loopId)
          const { loop } = loopOver(session, { terms: { everyMs, rounds }, startedAtMs, past })
          loop.begin(past.open === undefined ? undefined : () => session.resume())
          return { session, loop }
        }
        let running = open()
        const noteStarts = (): void => void starts.push(...running.session.prompts.splice(0))
        for (const { kind, ms } of happened) {
          if (kind === 'time') await clock.advance(ms)
          else if (kind === 'person') running.session.person({ ms })
          else if (kind === 'clock') {
            clock.setWall(ms)
            isWallSet = true
          } else {
            noteStarts()
            running.session.kill()
            await clock.advance(ms)
            if (record.open !== undefined && record.open.promptId === undefined) record.open = undefined
            running = open()
          }
        }
        // In the end it is left alone.
        await clock.advance(rounds * (120_000 + everyMs) + 100_000)
        noteStarts()
        expect(starts.map(({ id }) => id)).toEqual(
          Array.from({ length: rounds }, (_, index) => `loop:${loopId}:${index + 1}`),
        )
        const all: readonly LoopRound[] = running.loop.rounds
        expect(all.map(({ round }) => round)).toEqual(Array.from({ length: rounds }, (_, index) => index + 1))
        expect(running.loop.view.phase).toBe('ended')
        const early = starts.filter(({ at }, index) => index > 0 && at - (starts[index - 1]?.at ?? 0) < everyMs)
        // Between two processes, only the wall clock measures the time.
        expect(isWallSet ? [] : early).toEqual([])
      },
    ),
    { numRuns: 300 },
  )
})

test('is never early and waits at most one interval if the wall clock is set while it waits', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 600_000 }),
      fc.integer({ min: -1e9, max: 1e9 }),
      async (everyMs, byMs) => {
        const { clock, session } = fixture([{ ms: 0 }])
        const { loop } = loopOver(session, { terms: { everyMs, rounds: 3 } })
        loop.begin()
        await clock.advance(everyMs / 2)
        clock.setWall(byMs)
        await clock.advance(everyMs * 3)
        expect(session.prompts.map(({ at }) => at)).toEqual([0, everyMs, 2 * everyMs])
      },
    ),
    { numRuns: 100 },
  )
})

test('never pauses longer than the interval after the clock was set back between two processes', async () => {
  const clock = new FakeLoopClock()
  const record = new FakeRecord()
  const first = new FakeSession(clock, () => ({ ms: 1 }), record)
  const terms = { everyMs: minute, rounds: 2 }
  const startedAtMs = clock.wallMs()
  loopOver(first, { terms, startedAtMs }).loop.begin()
  await clock.advance(1_000)
  first.kill()
  clock.setWall(-1e9)
  const second = new FakeSession(clock, () => ({ ms: 1 }), record)
  loopOver(second, { terms, startedAtMs, past: record.past(loopId) }).loop.begin()
  const before = clock.now()
  await clock.advance(2 * minute)
  expect(second.prompts.map(({ at }) => at - before)).toEqual([minute])
})
