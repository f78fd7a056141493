// Holds rules of docs/spec: R-FOLL-1, R-FOLL-1a, R-FOLL-1b.
import { array, assert, asyncProperty, constantFrom, integer, oneof, record } from 'fast-check'
import type { ObjectContext } from '@restatedev/restate-sdk'
import type { StepRecord } from '@halting/core/steps'
import { expect, test } from 'vitest'
import { waitForChange, type LongPollPorts } from '../../src/service/long-poll.ts'
import { fullStatus, mailboxVersion } from '../../src/service/full-status.ts'
import {
  begin,
  emptyMailbox,
  maxWatchers,
  push,
  settle,
  withWatchNotice,
  unwatch,
  wakeWatchers,
  watch,
  type Mailbox,
} from '../../src/service/mailbox.ts'
import { mailboxStateOf } from '../../src/service/mailbox-object.ts'
import { writeMailbox } from '../../src/service/mailbox-state.ts'
import { readStatus, type SessionStatus } from '../../src/service/status.ts'
import { WorkRecord } from '../../src/service/work-record.ts'
import { MemoryState } from '../support/memory-state.ts'

const aRecord = { type: 'control', key: 'k', value: null } as unknown as StepRecord

/** A session whose messages are delivered in an order that the test chooses, without real time. */
class World {
  readonly state = new MemoryState()
  mailbox: Mailbox = emptyMailbox
  /** What each call that was not woken has seen. */
  readonly seen = new Map<string, string>()
  #calls = 0
  #requests = 0
  #invocations = 0
  #work: WorkRecord | undefined
  readonly toWork: { readonly invocation: string; readonly message: string }[] = []
  readonly toMailbox: (() => void)[] = []

  readonly #context = {
    key: 's',
    set: (key: string, value: unknown) => this.state.set(key, value),
    objectSendClient: () => ({ wake: () => this.toMailbox.push(() => this.#wake()) }),
  } as unknown as ObjectContext

  async version(): Promise<string> {
    const session = await readStatus(this.state)
    return fullStatus({ session, mailbox: mailboxStateOf(this.mailbox), stalled: undefined }).version ?? ''
  }

  #wake(): void {
    const { mailbox, awakeables } = wakeWatchers(this.mailbox)
    this.mailbox = mailbox
    for (const awakeable of awakeables) this.seen.delete(awakeable)
  }

  #tell(invocation: string | undefined, message: string): void {
    if (invocation !== undefined) this.toWork.push({ invocation, message })
  }

  /** A client calls, and gets its answer or waits: the read and the registration are separate steps. */
  async call(by: string, since: string, between: () => Promise<void>): Promise<void> {
    const id = `${by} ${this.#calls++}`
    await Promise.race([
      waitForChange({ since, by }, () => id, {
        stalled: () => undefined,
        session: () => readStatus(this.state),
        mailbox: async () => mailboxStateOf(this.mailbox),
        watch: async ({ ifStill, seen, by: name }) => {
          const state = mailboxStateOf(this.mailbox)
          if (mailboxVersion(state) !== ifStill) return { ...state, isWatching: false }
          const { mailbox, notify } = watch(this.mailbox, { by: name, awakeable: id })
          this.mailbox = mailbox
          this.#tell(notify, JSON.stringify(seen))
          await between()
          return { ...state, isWatching: true }
        },
        unwatch: () => Promise.reject(new Error('It waits.')),
        woken: () => {
          if (this.mailbox.watchers?.some(({ awakeable }) => awakeable === id) === true) this.seen.set(id, since)
          return new Promise(() => {})
        },
      }),
      new Promise((resolve) => setImmediate(resolve)),
    ])
    for (const other of this.seen.keys()) if (other !== id && other.startsWith(`${by} `)) this.seen.delete(other)
  }

  async do(what: 'push' | 'begin' | 'records' | 'end' | 'to work' | 'to mailbox'): Promise<void> {
    switch (what) {
      case 'push': {
        const id = String(this.#requests++)
        const pushed = push(this.mailbox, { id, request: { type: 'prompt', content: 'go' } }, false)
        if (!('mailbox' in pushed)) return
        this.mailbox = pushed.mailbox
        this.#wake()
        return
      }
      case 'begin': {
        if (this.mailbox.worker !== null) return
        const { mailbox, notify } = withWatchNotice(begin(this.mailbox, `i${this.#invocations++}`))
        this.mailbox = mailbox
        this.#tell(notify, 'null')
        this.#work = new WorkRecord(this.#context, await readStatus(this.state))
        return
      }
      case 'records':
        this.#work?.onBatch({ format: 1, records: [aRecord], stored: [aRecord] })
        return
      case 'end':
        if (this.#work === undefined) return
        this.#work.onBatch({ format: 1, records: [aRecord], stored: [aRecord], done: null })
        this.#work = undefined
        this.mailbox = settle(this.mailbox, this.#requests)
        this.#wake()
        return
      case 'to work': {
        const next = this.toWork.shift()
        if (next !== undefined && next.invocation === this.mailbox.worker) this.#work?.onWatch(next.message)
        return
      }
      case 'to mailbox':
        this.toMailbox.shift()?.()
    }
  }
}

const anEvent = constantFrom('push', 'begin', 'records', 'end', 'to work', 'to mailbox' as const)

test('every change wakes a waiting client in any order of messages, and no race misses one', async () => {
  const step = oneof(
    { weight: 3, arbitrary: record({ type: anEvent }) },
    {
      weight: 2,
      arbitrary: record({ by: integer({ min: 0, max: 2 }), isLate: constantFrom(true, false), between: anEvent }),
    },
  )
  await assert(
    asyncProperty(array(step, { maxLength: 40 }), async (steps) => {
      const world = new World()
      let before = await world.version()
      for (const one of steps) {
        if ('type' in one) {
          before = await world.version()
          await world.do(one.type)
        } else {
          const since = one.isLate ? before : await world.version()
          await world.call(String(one.by), since, () => world.do(one.between))
        }
      }
      while (world.toWork.length + world.toMailbox.length > 0) {
        await world.do('to work')
        await world.do('to mailbox')
      }
      const now = await world.version()
      for (const seen of world.seen.values()) expect(seen).toBe(now)
    }),
  )
})

test('one call of each client is stored, up to a limit in all', () => {
  let mailbox: Mailbox = emptyMailbox
  for (let call = 0; call < 3 * maxWatchers; call++)
    mailbox = watch(mailbox, { by: `client ${call % (2 * maxWatchers)}`, awakeable: `a${call}` }).mailbox
  expect(mailbox.watchers).toHaveLength(maxWatchers)
  expect(new Set(mailbox.watchers?.map(({ by }) => by)).size).toBe(maxWatchers)
  expect(mailbox.watchers?.at(-1)?.awakeable).toBe(`a${3 * maxWatchers - 1}`)
})

const idle: SessionStatus = { state: 'idle', turns: 0, usd: 0, tokens: 0, questions: [], records: 3 }
const mailboxOf = { isWorking: false, isClosed: false, waiting: 0, asked: 4 }
const never: LongPollPorts = {
  stalled: () => undefined,
  session: async () => idle,
  mailbox: async () => mailboxOf,
  watch: () => Promise.reject(new Error('It waits.')),
  unwatch: () => Promise.reject(new Error('It waits.')),
  woken: () => Promise.reject(new Error('It waits.')),
}
const { version: now = '' } = fullStatus({ session: idle, mailbox: mailboxOf, stalled: undefined })

test.each([
  ['nothing', {}],
  ['something else', { since: 'other/4-0/' }],
  ['fewer records', { since: now.replace('3', '2') }],
  ['no wait', { since: now, waitMs: 0 }],
])('a client that has seen %s is answered at once', async (_what, query) => {
  expect(await waitForChange(query, () => 'id', never)).toEqual({
    ...idle,
    isWorking: false,
    isClosed: false,
    waiting: 0,
    version: now,
  })
})

test('a stall is reported at once, and only once', async () => {
  const stalled = { kind: 'paused', invocation: 'inv', needsResume: true, message: 'It is paused.' } as const
  const waited: number[] = []
  const ports: LongPollPorts = {
    ...never,
    stalled: () => stalled,
    watch: async () => ({ ...mailboxOf, isWatching: true }),
    woken: async (ms) => void waited.push(ms),
  }
  const answer = await waitForChange({ since: now }, () => 'id', ports)
  expect(answer).toMatchObject({ state: 'paused', stalled })
  await waitForChange({ since: answer.version ?? '' }, () => 'id', ports)
  expect(waited).toEqual([1, 50_000])
})

test('a call that times out reads each object once, and one that is woken reads the session again', async () => {
  let reads = 0
  const ports: LongPollPorts = {
    ...never,
    session: async () => ({ ...idle, records: idle.records + reads++ }),
    watch: async () => ({ ...mailboxOf, isWatching: true }),
    woken: async () => undefined,
  }
  const unwoken = await waitForChange({ since: now }, () => 'id', ports)
  expect([unwoken.version, reads]).toEqual([now, 1])
  reads = 0
  const woken = { ...ports, woken: async () => ({ ...mailboxOf, asked: 5 }) }
  expect(await waitForChange({ since: now }, () => 'id', woken)).toMatchObject({ records: 4, version: '4/5-0/' })
})

test.each([{ since: 3 }, { waitMs: -1 }, { by: '' }, { other: 1 }])('%j is refused with a sentence', async (query) => {
  await expect(waitForChange(query, () => 'id', never)).rejects.toMatchObject({ code: 400 })
})

test('watching a session that does not exist leaves no state and wakes no one else', async () => {
  let mailbox = emptyMailbox
  const state = new MemoryState()
  const write = (after: Mailbox): void => {
    mailbox = after
    writeMailbox(state, after)
  }
  const ports: LongPollPorts = {
    stalled: () => undefined,
    session: async () => ({ ...idle, records: 0 }),
    mailbox: async () => mailboxStateOf(mailbox),
    watch: async ({ by }) => {
      write(watch(mailbox, { by, awakeable: by }).mailbox)
      return { ...mailboxStateOf(mailbox), isWatching: true }
    },
    unwatch: async (by) => write(unwatch(mailbox, by)),
    woken: async () => undefined,
  }
  write(watch(mailbox, { by: 'other', awakeable: 'other' }).mailbox)
  const since = fullStatus({
    session: { ...idle, records: 0 },
    mailbox: mailboxStateOf(mailbox),
    stalled: undefined,
  }).version
  const query = { since: since ?? '', by: 'one' }
  await waitForChange(query, () => 'id', ports)
  expect(mailbox.watchers?.map(({ by }) => by)).toEqual(['other'])
  await waitForChange({ ...query, by: 'other' }, () => 'id', ports)
  expect([...state.values]).toEqual([])
  // A session with requests keeps its watchers, and needs no further call.
  write({ ...mailbox, next: 2 })
  const asked = fullStatus({
    session: { ...idle, records: 0 },
    mailbox: mailboxStateOf(mailbox),
    stalled: undefined,
  }).version
  await waitForChange({ since: asked ?? '', by: 'one' }, () => 'id', ports)
  expect(mailbox.watchers).toHaveLength(1)
})
