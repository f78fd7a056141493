// Holds R-SERV-18 and R-SERV-18a of docs/spec: waits for services of sessions on a cluster.
import { createSession, type Session } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createClusterClient } from '../../src/client/index.ts'
import { emptySnapshot, withRecordedWaits } from '../../src/client/remote-snapshot.ts'
import type { SessionToOpen } from '../../src/service/session-options.ts'
import { fakeCluster, type FakeCluster } from '../support/fake-cluster.ts'

const hour = 3_600_000
const limited = {
  error: { kind: 'rate_limit', message: 'Too many requests', status: 429, retryAfterMs: hour },
} as const

interface World {
  readonly cluster: FakeCluster
  /** A client that connects now. With `isCutOff` it reads no live events. */
  readonly client: (isCutOff?: boolean) => Session
  readonly asked: () => number
  /** Another process takes over the run, and opens the session while this request of a client is on its way. */
  readonly elsewhere: (type: string, act: () => void) => Promise<void>
}

/** A cluster whose processes share one service. */
async function world(...replies: readonly (typeof limited | string)[]): Promise<World> {
  const model = scriptedModel(replies)
  const other = scriptedModel(['From the other.', 'From the other.'], { id: 'other' })
  let pendingCall: Promise<unknown> | undefined
  const cluster = await fakeCluster({
    open: async ({ sessionId, journal }: SessionToOpen) => {
      await pendingCall
      return createSession({
        options: { model, models: [other], sessionId, waitForLimitsMs: 8 * hour },
        journal,
        answersQuestions: false,
        permissions: { mode: 'default' },
        cwd: '/',
        end: async () => {},
      })
    },
  })
  onTestFinished(() => cluster.close())
  return {
    cluster,
    asked: () => model.requests.length,
    async elsewhere(type, act) {
      let release: () => void = () => undefined
      pendingCall = new Promise<void>((resolve) => (release = resolve))
      expect(cluster.kill('s')).toBe(true)
      act()
      await vi.waitFor(() => expect(cluster.requests.at(-1)?.request.type).toBe(type))
      // By now the engine has it, too.
      await new Promise((resolve) => setTimeout(resolve, 20))
      release()
    },
    client(isCutOff = false) {
      const worker = isCutOff ? { worker: { reach: () => 'http://127.0.0.1:1' } } : {}
      const session = createClusterClient({ ingress: cluster.url, ...worker }).session('s')
      onTestFinished(() => session.close())
      return session
    },
  }
}

const waiting = (session: Session, count = 1): Promise<void> =>
  vi.waitFor(() => expect(session.snapshot.serviceWaits).toHaveLength(count), { timeout: 20_000 })

test('a client that connects during a wait receives its start and its end once, even without live events', async () => {
  const { client, asked } = await world(limited, 'Done.')
  const first = client()
  first.prompt('go')
  await waiting(first)
  const [second, unread] = [client(), client(true)]
  await waiting(second)
  await waiting(unread)
  const [{ sinceMs, untilMs } = { sinceMs: 0, untilMs: 0 }] = first.snapshot.serviceWaits
  expect(second.snapshot.activity).toMatchObject({ type: 'service_wait', sinceMs, untilMs, error: '429' })
  expect(unread.snapshot.activity).toMatchObject({ type: 'service_wait', sinceMs, untilMs, error: '' })
  expect(unread.retryNow()).toBe(true)
  await first.settled()
  await unread.settled()
  expect([asked(), first.snapshot.last?.reason, unread.snapshot.serviceWaits]).toEqual([2, 'completed', []])
  expect(first.retryNow()).toBe(false)
})

test('a retry that arrives while another process takes over the run is not lost, and ends no later wait', async () => {
  const { cluster, client, asked, elsewhere } = await world(limited, limited, 'Done.')
  const session = client()
  session.prompt('go')
  await waiting(session)
  const [first] = session.snapshot.serviceWaits
  await elsewhere('retry_now', () => expect(session.retryNow()).toBe(true))
  await vi.waitFor(() => expect(session.snapshot.serviceWaits[0]?.sinceMs).toBeGreaterThan(first?.sinceMs ?? 0), 10_000)
  expect(asked()).toBe(2)
  // Another process gets the same request, and the wait continues.
  expect(cluster.kill('s')).toBe(true)
  await new Promise((resolve) => setTimeout(resolve, 300))
  await waiting(session)
  expect(asked()).toBe(2)
  expect(session.retryNow()).toBe(true)
  await session.settled()
  expect([asked(), session.snapshot.last?.reason]).toEqual([3, 'completed'])
})

test.each<readonly [string, string, (session: Session) => void, string]>([
  ['another model', 'set', (session) => session.set({ model: 'other' }), 'completed'],
  ['a stop', 'stop', (session) => session.stop('enough'), 'user_requested'],
  ['an interruption', 'interrupt', (session) => void session.interrupt(), 'aborted_streaming'],
])('%s that arrives while another process takes over the run ends its wait', async (_what, type, act, reason) => {
  const { client, asked, elsewhere } = await world(limited, 'never')
  const session = client()
  session.prompt('go')
  await waiting(session)
  await elsewhere(type, () => act(session))
  await session.settled()
  expect([session.snapshot.last?.reason, asked()]).toEqual([reason, 1])
})

test('a model that was set does not end a later wait, in any process', async () => {
  const { cluster, client, asked } = await world(limited, limited, 'Done.')
  const session = client()
  session.set({ model: 'scripted' })
  session.prompt('go')
  await waiting(session)
  expect(cluster.kill('s')).toBe(true)
  await new Promise((resolve) => setTimeout(resolve, 300))
  await waiting(session)
  expect(asked()).toBe(1)
})

test('waits on record are shown as they are, and those of agents without an activity', () => {
  const nothing = emptySnapshot('s')
  expect(withRecordedWaits(nothing, [])).toBe(nothing)
  const wait = (key: string, sinceMs: number) => ({ key, sinceMs, untilMs: sinceMs + 1 })
  const own = withRecordedWaits(nothing, [wait('run1/retry:1.1.service', 5)])
  expect(own).toMatchObject({ activity: { type: 'service_wait', sinceMs: 5 }, serviceWaits: [{ callIds: [] }] })
  expect(withRecordedWaits(own, [wait('run1/retry:1.1.service', 5)])).toBe(own)
  const ofAgent = withRecordedWaits(own, [wait('run1/tool:1:a/agent/retry:1.1.service', 7)])
  expect([ofAgent.activity.type, ofAgent.serviceWaits.map(({ sinceMs }) => sinceMs)]).toEqual(['asking', [7]])
})
