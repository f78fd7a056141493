// Holds rules of docs/spec: R-CLU-12a, R-CLU-13, R-CLU-13f.
import { createSession, type SessionEvent } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import { afterEach, expect, test } from 'vitest'
import { createClusterClient } from '../../src/client/index.ts'
import type { SessionToOpen } from '../../src/service/session-options.ts'
import { fakeCluster, type FakeCluster } from '../support/fake-cluster.ts'

const clusters: FakeCluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close()
})

/** A worker whose model calls a tool, which `execute` answers, and then answers "done". */
async function cluster(execute: () => Promise<string>): Promise<FakeCluster> {
  const made = await fakeCluster({
    open: async ({ sessionId, journal }: SessionToOpen) =>
      createSession({
        options: {
          model: scriptedModel([{ text: 'looking', toolCalls: [{ name: 'Look', id: 'l1' }] }, 'done']),
          tools: [{ name: 'Look', description: 'Looks.', inputSchema: { type: 'object' }, readOnly: true, execute }],
          sessionId,
        },
        journal,
        answersQuestions: false,
        permissions: { mode: 'default' },
        cwd: '/',
        end: async () => {},
      }),
  })
  clusters.push(made)
  return made
}

test('a prompt to a cluster emits the events of a local session, even if its worker is lost in the middle', async () => {
  let calls = 0
  const made: FakeCluster = await cluster(async () => {
    calls++
    if (calls === 1) {
      made.kill('s')
      await new Promise(() => {})
    }
    return 'seen'
  })
  const session = createClusterClient({ ingress: made.url }).session('s')
  const events: SessionEvent[] = []
  session.listen((event) => events.push(event))
  session.prompt('look', { id: 'p' })
  await session.settled()
  await session.close()
  const messages = events.flatMap((event) => {
    if (event.type === 'message') {
      const { message } = event
      return message.type === 'system' ? (message.subtype === 'init' ? ['init'] : []) : [message.type]
    }
    return event.type === 'run_start' || event.type === 'run_end' ? [event.type] : []
  })
  expect(messages).toEqual(['run_start', 'init', 'assistant', 'assistant', 'user', 'assistant', 'result', 'run_end'])
  expect(calls).toBe(2)
})

test('a question is emitted and answered even if the worker that asks is unreachable', async () => {
  const made = await fakeCluster({
    open: async ({ sessionId, journal }: SessionToOpen) =>
      createSession({
        options: {
          model: scriptedModel([{ text: 'paying', toolCalls: [{ name: 'Pay', id: 'p1', input: { usd: 3 } }] }, 'paid']),
          tools: [
            {
              name: 'Pay',
              description: 'Pays.',
              inputSchema: { type: 'object' },
              readOnly: false,
              execute: async () => 'done',
            },
          ],
          permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May I?' }) },
          sessionId,
        },
        journal,
        answersQuestions: true,
        permissions: { mode: 'default' },
        cwd: '/',
        end: async () => {},
      }),
  })
  clusters.push(made)
  const worker = { reach: () => 'http://127.0.0.1:1' }
  const session = createClusterClient({ ingress: made.url, worker }).session('s')
  const asked: unknown[] = []
  session.listen((event) => {
    if (event.type !== 'question') return
    const { id, toolName, input, callId } = event.question
    asked.push({ toolName, input, callId })
    session.answer(id, { behavior: 'allow' })
  })
  session.prompt('pay', { id: 'p' })
  await session.settled()
  expect(asked).toEqual([{ toolName: 'Pay', input: { usd: 3 }, callId: 'p1' }])
  expect(session.snapshot).toMatchObject({ questions: [], status: 'idle', last: { reason: 'completed' } })
  await session.close()
})

test.each([
  ['cannot be reached', 'http://127.0.0.1:1'],
  ['serves live events', undefined],
])('a question at a limit is emitted and answered even if the worker that pauses %s', async (_how, reach) => {
  const look = { toolCalls: [{ name: 'Look', input: {} }] }
  const made = await fakeCluster({
    open: async ({ sessionId, journal }: SessionToOpen) =>
      createSession({
        options: {
          model: scriptedModel([look, look, look, 'Done.']),
          tools: [
            {
              name: 'Look',
              description: '',
              inputSchema: { type: 'object' },
              readOnly: true,
              execute: async () => 'seen',
            },
          ],
          maxTurns: 2,
          onLimit: 'pause',
          sessionId,
        },
        journal,
        answersQuestions: true,
        permissions: { mode: 'default' },
        cwd: '/',
        end: async () => {},
      }),
  })
  clusters.push(made)
  const worker = reach === undefined ? {} : { reach: () => reach }
  const session = createClusterClient({ ingress: made.url, worker }).session('s')
  const asked: unknown[] = []
  session.listen((event) => {
    if (event.type !== 'limit_question') return
    const { id, limit, used, of } = event.request
    asked.push({ limit, used, of })
    expect(() => session.answerLimit(id, { raise: { maxTurns: 2 } })).toThrow('must be above 2')
    expect(session.answerLimit(id, { raise: { maxTurns: 4 } })).toBe(true)
  })
  session.prompt('look', { id: 'p' })
  await session.settled()
  expect(asked).toEqual([{ limit: 'maxTurns', used: 2, of: 2 }])
  expect(session.snapshot).toMatchObject({ limitQuestion: null, status: 'idle', last: { reason: 'completed' } })
  await session.close()
})
