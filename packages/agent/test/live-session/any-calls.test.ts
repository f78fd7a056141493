// Holds rules of docs/spec.md: R-LIVE-1 to R-LIVE-4, R-LIVE-9: whatever is asked of a session, whenever.
import { allowAll, ConfigurationError, tool } from '@halting/core'
import type { Session, SessionEvent } from '@halting/agent/session'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { looks, sessionOf } from './support.ts'

const look = tool({ name: 'Look', description: '', readOnly: true, execute: async () => 'seen' })

/** What a model says next, by the number of the request. */
const replies = fc.array(fc.constantFrom('answers', 'looks', 'hangs', 'fails'), { maxLength: 12 })

const when = fc.constantFrom('now', 'next', 'later')
/** Few ids, so that some come twice. */
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

/** A book of what was handed in, and of what came back. */
interface Book {
  readonly handedIn: Set<string>
  readonly back: string[]
}

async function make(session: Session, each: Call, { handedIn, back }: Book): Promise<void> {
  switch (each.type) {
    case 'prompt': {
      handedIn.add(
        session.prompt('say', { ...('id' in each && each.id !== undefined && { id: each.id }), when: each.when }),
      )
      return
    }
    case 'slash':
      handedIn.add(session.prompt('/compact now'))
      return
    case 'retract': {
      const one = each.id ?? session.snapshot.queue[0]?.id ?? 'nobody'
      if (session.retract(one)) back.push(one)
      return
    }
    case 'interrupt': {
      const { givenBack, stillQueued } = session.interrupt({ queue: each.queue })
      back.push(...givenBack.map((message) => message.id))
      expect(stillQueued).toEqual(session.snapshot.queue)
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
        expect(error).toBeInstanceOf(ConfigurationError)
      }
      return
    case 'wait':
      for (let tick = 0; tick < each.ticks; tick++) await Promise.resolve()
      await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Each run in its order: its beginning, `system/init` first, one result last, its end. */
function checkRuns(told: readonly SessionEvent[]): void {
  let run: { readonly messages: string[]; results: number } | undefined
  for (const event of told) {
    switch (event.type) {
      case 'run_start':
        expect(run).toBeUndefined()
        run = { messages: [], results: 0 }
        break
      case 'message':
        expect(run?.results).toBe(0)
        run?.messages.push(event.message.type)
        if (run?.messages.length === 1) expect(event.message).toMatchObject({ type: 'system', subtype: 'init' })
        if (run !== undefined && event.message.type === 'result') run.results++
        break
      case 'run_end':
        expect(run?.results).toBe(1)
        run = undefined
        break
      case 'failed':
        // Only what cannot begin: a compaction of nothing.
        expect(run).toBeUndefined()
        expect(event.error).toBeInstanceOf(ConfigurationError)
        break
      default:
    }
  }
  expect(run).toBeUndefined()
}

test('every message is in the conversation once, or waits, or was given back; every run has one result; after the end nothing is left', async () => {
  await fc.assert(
    fc.asyncProperty(replies, fc.array(call, { minLength: 1, maxLength: 25 }), async (script, calls) => {
      const permissions = { ...allowAll, decide: () => ({ behavior: 'ask', message: 'Really?' }) as const }
      const { session, told } = sessionOf(
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
      const book: Book = { handedIn: new Set(), back: [] }
      for (const each of calls) await make(session, each, book)
      await session.close()
      await new Promise((resolve) => setImmediate(resolve))

      checkRuns(told)
      const heard = told.flatMap((event) =>
        event.type === 'loop' && event.event.type === 'message' && event.event.entry.kind === 'user'
          ? (event.event.entry.inboxId ?? [])
          : [],
      )
      const slashes = told
        .flatMap((event) => (event.type === 'run_start' ? event.ids : []))
        .filter((one) => !heard.includes(one))
      const failed = told.flatMap((event) => (event.type === 'failed' ? event.givenBack : [])).map((one) => one.id)
      const waiting = session.snapshot.queue.map((one) => one.id)
      const back = [...book.back, ...failed]
      // What came back may be handed in again.
      expect(new Set([...heard, ...slashes]).size).toBe(heard.length + slashes.length)
      expect(new Set(waiting).size).toBe(waiting.length)
      expect(new Set([...heard, ...slashes, ...waiting, ...back])).toEqual(book.handedIn)
      for (const one of waiting) expect([...heard, ...slashes]).not.toContain(one)

      const open = told.flatMap((event) => (event.type === 'question' ? [event.question.id] : []))
      const closed = told.flatMap((event) => (event.type === 'question_closed' ? [event.id] : []))
      expect(closed.toSorted()).toEqual(open.toSorted())
      expect(told.at(-1)).toEqual({ type: 'closed' })
      expect(session.snapshot).toMatchObject({ status: 'closed', questions: [], activity: { type: 'idle' } })
    }),
    { numRuns: 150 },
  )
})

test('a thousand runs in one session leave nothing behind, and the last is told as the first was', async () => {
  const { session } = sessionOf(() => ({ text: 'Yes.' }))
  let events = 0
  const perRun: number[] = []
  session.listen((event) => {
    events++
    if (event.type !== 'run_end') return
    perRun.push(events)
    events = 0
  })
  for (let run = 1; run <= 1_000; run++) {
    session.prompt('say', { id: `m${run}` })
    await session.settled()
  }
  expect(perRun).toHaveLength(1_000)
  expect(new Set(perRun.slice(1)).size).toBe(1)
  expect(session.snapshot).toMatchObject({ status: 'idle', queue: [], questions: [], tasks: [] })
  await session.close()
})
