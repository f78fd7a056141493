// Tests R-LIVE-1 to R-LIVE-4, R-LIVE-9: any sequence of calls on a session.
import { allowAll } from '../../src/tools/permissions.ts'
import { ConfigurationError } from '../../src/values/errors.ts'
import { tool } from '../../src/tools/define-tool.ts'
import type { Session, SessionEvent } from '../../src/live-session/session.ts'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { looks, sessionOf } from './support.ts'

const look = tool({ name: 'Look', description: '', readOnly: true, execute: async () => 'seen' })

/** The behavior of the model, by the number of the request. */
const replies = fc.array(fc.constantFrom('answers', 'looks', 'hangs', 'fails'), { maxLength: 12 })

const when = fc.constantFrom('now', 'next', 'later')
/** Few ids, so that some repeat. */
const id = fc.option(fc.constantFrom('a', 'b', 'c', 'd'), { nil: undefined })
const call = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('prompt'), when, id }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('retract'), id }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('interrupt'), queue: fc.constantFrom('keep', 'give_back') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom('stop', 'compact', 'resume', 'answer', 'limits', 'mode', 'slash', 'usage'),
    }),
  },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('wait'), ticks: fc.integer({ min: 1, max: 30 }) }) },
)

type Call = typeof call extends fc.Arbitrary<infer T> ? T : never

/** Records submitted and returned messages, and violations. */
interface CallLog {
  readonly submitted: Set<string>
  readonly returned: string[]
  readonly problems: string[]
}

async function perform(session: Session, each: Call, { submitted, returned, problems }: CallLog): Promise<void> {
  switch (each.type) {
    case 'prompt': {
      submitted.add(
        session.prompt('say', { ...('id' in each && each.id !== undefined && { id: each.id }), when: each.when }),
      )
      return
    }
    case 'slash':
      submitted.add(session.prompt('/compact now'))
      return
    case 'retract': {
      const one = each.id ?? session.snapshot.queue[0]?.id ?? 'nobody'
      if (session.retract(one)) returned.push(one)
      return
    }
    case 'interrupt': {
      const { givenBack, stillQueued } = session.interrupt({ queue: each.queue })
      returned.push(...givenBack.map((message) => message.id))
      if (stillQueued.length !== session.snapshot.queue.length) problems.push('another queue')
      return
    }
    case 'stop':
      return session.stop()
    case 'limits':
      return session.set({ limits: { maxTurns: 3 } })
    case 'mode':
      return session.set({ model: 'scripted' })
    case 'usage':
      await session.contextUsage()
      return
    case 'answer':
      for (const { id: question } of session.snapshot.questions) session.answer(question, { behavior: 'allow' })
      return
    case 'compact':
    case 'resume':
      try {
        session[each.type]()
      } catch (error) {
        if (!(error instanceof ConfigurationError)) problems.push(String(error))
      }
      return
    case 'wait':
      for (let tick = 0; tick < each.ticks; tick++) await Promise.resolve()
      await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Checks the order: each run has a start, `system/init` first, one result last, and an end. */
function problemsOf(events: readonly SessionEvent[]): readonly string[] {
  const problems: string[] = []
  const check = (isTrue: boolean, what: string): void => {
    if (!isTrue) problems.push(what)
  }
  let run: { messages: number; results: number } | undefined
  for (const event of events) {
    switch (event.type) {
      case 'run_start':
        check(run === undefined, 'a run in a run')
        run = { messages: 0, results: 0 }
        break
      case 'message': {
        const { message } = event
        check(run?.results === 0, 'a message behind a result, or outside of a run')
        check(run?.messages !== 0 || (message.type === 'system' && message.subtype === 'init'), 'no init first')
        run = run && { messages: run.messages + 1, results: run.results + Number(message.type === 'result') }
        break
      }
      case 'run_end':
        check(run?.results === 1, 'a run without one result')
        run = undefined
        break
      case 'failed':
        // Only what cannot begin: a compaction of nothing.
        check(run === undefined && event.error instanceof ConfigurationError, `failed: ${String(event.error)}`)
        break
      default:
    }
  }
  check(run === undefined, 'a run without an end')
  return problems
}

/** A run has taken a message that is not reported yet. */
const takenUnreported: Call[] = [
  { type: 'prompt', when: 'now', id: undefined },
  { type: 'prompt', when: 'next', id: 'b' },
  { type: 'prompt', when: 'now', id: 'b' },
  { type: 'answer' },
  { type: 'interrupt', queue: 'keep' },
  { type: 'wait', ticks: 1 },
]

test('every message is in the conversation once, waits, or was returned; every run has one result; nothing remains after the end', async () => {
  await fc.assert(
    fc.asyncProperty(replies, fc.array(call, { minLength: 1, maxLength: 25 }), async (script, calls) => {
      const permissions = { ...allowAll, decide: () => ({ behavior: 'ask', message: 'Really?' }) as const }
      const { session, events } = sessionOf(
        (_request, index) => {
          const what = script[index] ?? 'answers'
          if (what === 'looks') return looks
          if (what === 'hangs') return { hang: true }
          if (what === 'fails') return { error: { kind: 'invalid_request', message: 'No.', status: 400 } }
          return { text: 'Yes.' }
        },
        { tools: [look], permissions },
        { answersQuestions: true },
      )
      const book: CallLog = { submitted: new Set(), returned: [], problems: [] }
      for (const each of calls) await perform(session, each, book)
      await session.close()
      await new Promise((resolve) => setImmediate(resolve))

      expect([...book.problems, ...problemsOf(events)]).toEqual([])
      const takenIds = events.flatMap((event) =>
        event.type === 'loop' && event.event.type === 'message' && event.event.entry.kind === 'user'
          ? (event.event.entry.inboxId ?? [])
          : [],
      )
      const slashes = events
        .flatMap((event) => (event.type === 'run_start' ? event.ids : []))
        .filter((one) => !takenIds.includes(one))
      const failed = events.flatMap((event) => (event.type === 'failed' ? event.givenBack : [])).map((one) => one.id)
      const waiting = session.snapshot.queue.map((one) => one.id)
      const returned = [...book.returned, ...failed]
      // A returned message may be submitted again.
      expect(new Set([...takenIds, ...slashes]).size).toBe(takenIds.length + slashes.length)
      expect(new Set(waiting).size).toBe(waiting.length)
      expect(new Set([...takenIds, ...slashes, ...waiting, ...returned])).toEqual(book.submitted)
      for (const one of waiting) expect([...takenIds, ...slashes]).not.toContain(one)

      const open = events.flatMap((event) => (event.type === 'question' ? [event.question.id] : []))
      const closed = events.flatMap((event) => (event.type === 'question_closed' ? [event.id] : []))
      expect(closed.toSorted()).toEqual(open.toSorted())
      expect(events.at(-1)).toEqual({ type: 'closed' })
      expect(session.snapshot).toMatchObject({ status: 'closed', questions: [], activity: { type: 'idle' } })
    }),
    { numRuns: 150, examples: [[[], takenUnreported]] },
  )
})

/** A thousand in the deep checks. */
const runs = process.env['HALTING_DEEP'] === 'all' ? 1_000 : 200

test('many runs in one session leave nothing behind, and the last has the same events as the first', async () => {
  const { session } = sessionOf(() => ({ text: 'Yes.' }))
  let events = 0
  const perRun: number[] = []
  session.listen((event) => {
    events++
    if (event.type !== 'run_end') return
    perRun.push(events)
    events = 0
  })
  for (let run = 1; run <= runs; run++) {
    session.prompt('say', { id: `m${run}` })
    await session.settled()
  }
  expect(perRun).toHaveLength(runs)
  expect(new Set(perRun.slice(1)).size).toBe(1)
  expect(session.snapshot).toMatchObject({ status: 'idle', queue: [], questions: [], tasks: [] })
  await session.close()
})
