// Holds rules of docs/spec: R-FOLL-2, R-FOLL-2a, R-FOLL-4.
import { HaltingError } from '@halting/core'
import { afterEach, expect, test, vi } from 'vitest'
import type { ChangedOptions, ClusterClient } from '../../src/client/client.ts'
import { Follower, type ConnectionTrouble, troubleText } from '../../src/client/follower.ts'
import { SessionEventLog } from '../../src/client/session-event-log.ts'
import type { FullStatus } from '../../src/service/full-status.ts'

const status = (version?: string): FullStatus => ({
  state: 'idle',
  turns: 0,
  usd: 0,
  tokens: 0,
  questions: [],
  records: 0,
  isWorking: false,
  isClosed: false,
  waiting: 0,
  ...(version !== undefined && { version }),
})

const followers: Follower[] = []
afterEach(() => {
  for (const follower of followers.splice(0)) follower.stop()
  vi.restoreAllMocks()
})

function followed(
  calls: Partial<Pick<ClusterClient, 'status' | 'changed'>>,
  silentMs = 10_000,
  fetchOf: typeof fetch = fetch,
) {
  const seen: (string | undefined)[] = []
  const troubles: ConnectionTrouble[] = []
  // The calls of a follower of an idle session.
  const client = { records: async () => [], ...calls } as unknown as ClusterClient
  const follower = new Follower({
    client,
    sessionId: 's',
    worker: {},
    fetch: fetchOf,
    eventLog: new SessionEventLog(
      's',
      () => {},
      () => {
        throw new Error('No event is expected.')
      },
    ),
    onStatus: ({ version }) => seen.push(version),
    onSnapshot: () => {},
    onUnread: async () => {},
    onLeft: async () => {},
    onIdle: async () => {},
    onTrouble: (trouble) => troubles.push(trouble),
    silentMs,
  })
  followers.push(follower)
  return { follower, seen, troubles }
}

test('consecutive long polls use one name, and checkNow gets an answer at once', async () => {
  const asked: ChangedOptions[] = []
  const changed = async (_id: string, options: ChangedOptions = {}): Promise<FullStatus> => {
    asked.push(options)
    if (asked.length < 3) return status(`v${asked.length}`)
    return new Promise((_, reject) =>
      options.signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
    )
  }
  const { follower, seen, troubles } = followed({ status: async () => status('v0'), changed })
  await vi.waitFor(() => expect(asked).toHaveLength(3))
  expect(seen).toEqual(['v0', 'v1', 'v2'])
  expect(asked.map(({ since }) => since)).toEqual(['v0', 'v1', 'v2'])
  expect(new Set(asked.map(({ by }) => by)).size).toBe(1)
  follower.checkNow()
  await vi.waitFor(() => expect(asked).toHaveLength(4))
  expect(seen).toEqual(['v0', 'v1', 'v2', 'v0'])
  expect(asked[2]?.signal?.aborted).toBe(true)
  expect(troubles).toEqual([])
})

test('a worker of an older version is only asked for its status', async () => {
  const { seen } = followed({
    status: async () => status(),
    changed: () => Promise.reject(new Error('There is no such handler.')),
  })
  await vi.waitFor(() => expect(seen.length).toBeGreaterThan(2))
})

test('an unreachable live address is not retried at each change, but a new address is tried', async () => {
  vi.spyOn(performance, 'now').mockReturnValue(1_000)
  const fetched: string[] = []
  const refuse = ((url: URL) => {
    fetched.push(url.host)
    return Promise.reject(new TypeError('fetch failed'))
  }) as unknown as typeof fetch
  let changes = 0
  const at = (): FullStatus => ({
    ...status(`v${changes}`),
    state: 'running',
    isWorking: true,
    live: `http://worker-${changes < 4 ? 1 : 2}`,
  })
  const changed = async (): Promise<FullStatus> => (++changes < 6 ? at() : new Promise(() => {}))
  const { seen } = followed({ status: async () => at(), changed }, undefined, refuse)
  await vi.waitFor(() => expect(changes).toBe(6))
  expect(seen).toHaveLength(6)
  expect(fetched).toEqual(['worker-1', 'worker-2'])
})

test('waits become short again after a live connection is lost and its worker is unreachable', async () => {
  let fetched = 0
  const lost = (() =>
    fetched++ === 0
      ? Promise.resolve(new Response('data: {"type":"hello","records":0}\n\n'))
      : Promise.reject(new TypeError('fetch failed'))) as unknown as typeof fetch
  const at: FullStatus = { ...status('v'), state: 'running', isWorking: true, live: 'http://worker' }
  const waits: (number | undefined)[] = []
  const changed = async (_id: string, { waitMs }: ChangedOptions = {}): Promise<FullStatus> =>
    waits.push(waitMs) < 4 ? at : new Promise(() => {})
  followed({ status: async () => at, changed }, undefined, lost)
  await vi.waitFor(() => expect(waits).toEqual([500, 1_000, 2_000, 4_000]))
})

test('a lost long poll is reported as trouble only if a direct request also fails', async () => {
  let isDown = false
  const down = new HaltingError('driver', 'The cluster does not answer: connect ECONNREFUSED')
  const { seen, troubles } = followed({
    status: async () => (isDown ? Promise.reject(down) : status('v0')),
    changed: async () => {
      isDown = seen.length > 3
      throw down
    },
  })
  await vi.waitFor(() => expect(troubles.length).toBeGreaterThan(0))
  expect(seen.length).toBeGreaterThan(3)
  expect(troubles[0]).toEqual({ type: 'failed', error: down })
})

test('an overdue call is reported as trouble, and its late answer still counts', async () => {
  let answer = (_status: FullStatus): void => {}
  const { seen, troubles } = followed(
    {
      status: () => new Promise((resolve) => (answer = resolve)),
      changed: () => new Promise(() => {}),
    },
    20,
  )
  await vi.waitFor(() => expect(troubles.length).toBeGreaterThan(0))
  expect(troubles[0]).toMatchObject({ type: 'silent' })
  answer(status('v0'))
  await vi.waitFor(() => expect(seen).toEqual(['v0']))
})

test('the message names what does not answer and says that nothing is lost', () => {
  const failed: ConnectionTrouble = {
    type: 'failed',
    error: new Error('The cluster does not answer: connect ECONNREFUSED.'),
  }
  const silent: ConnectionTrouble = { type: 'silent', forMs: 10_200 }
  expect([troubleText(failed, false), troubleText(silent, true), troubleText(silent, false)]).toEqual([
    'Cannot follow the session: The cluster does not answer: connect ECONNREFUSED. Nothing is lost. Retrying.',
    'No answer for 10 s: the engine accepts requests, but no worker responds, or the engine cannot write because its disk is full. Nothing is lost. Waiting.',
    'No answer for 10 s: the engine does not respond. Nothing is lost. Waiting.',
  ])
})

test('long polls without a change wait longer each time, and a change makes them short again', async () => {
  const waits: (number | undefined)[] = []
  const at = (version: string): FullStatus => ({ ...status(version), state: 'running', isWorking: true })
  const changed = async (_id: string, { waitMs }: ChangedOptions = {}): Promise<FullStatus> => {
    const calls = waits.push(waitMs)
    return calls < 7 ? at(calls < 6 ? 'v' : 'w') : new Promise(() => {})
  }
  followed({ status: async () => at('v'), changed })
  await vi.waitFor(() => expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 50_000, 50_000, 5_000]))
})
