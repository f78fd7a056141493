// Holds rules of docs/spec: R-CLU-14, and the first half of R-CLU-10 on the client's side: requests arrive in order, each under one id.
import type { SessionEvent } from '@halting/core/session'
import { expect, test } from 'vitest'
import { createClusterClient } from '../../src/client/cluster-client.ts'

/** An ingress that loses every second call, before or after it was handled. */
class LossyIngress {
  readonly heard: { readonly id: string; readonly request: { readonly type: string } }[] = []
  #calls = 0
  refuses = (_type: string): boolean => false

  readonly fetch: typeof fetch = async (url, init) => {
    const request = new Request(url, init)
    const handler = new URL(request.url).pathname.split('/').at(-1) ?? ''
    const isLost = this.#calls++ % 2 === 0
    if (isLost && this.#calls % 4 === 1) throw new TypeError('fetch failed')
    const answer = this.#answer(handler, await request.text())
    if (isLost) throw new TypeError('terminated')
    return answer
  }

  stalled: unknown

  #answer(handler: string, body: string): Response {
    if (handler === 'status')
      return Response.json({
        ...(this.stalled !== undefined && { stalled: this.stalled }),
        state: 'idle',
        turns: 0,
        usd: 0,
        tokens: 0,
        questions: [],
        records: 0,
        isWorking: false,
        isClosed: false,
        waiting: 0,
      })
    if (handler === 'records') return Response.json({ first: 0, records: [] })
    if (handler === 'done') return Response.json(null)
    if (handler === 'result') return Response.json({ state: 'waiting' })
    const request = JSON.parse(body)
    if (this.refuses(request.request.type))
      return Response.json({ code: 400, message: 'No such thing.' }, { status: 400 })
    if (!this.heard.some(({ id }) => id === request.id)) this.heard.push(request)
    return Response.json(true)
  }
}

function opened(ingress: LossyIngress) {
  const session = createClusterClient({ ingress: 'http://ingress', fetch: ingress.fetch }).session('s')
  const events: SessionEvent[] = []
  session.listen((event) => events.push(event))
  return { session, events }
}

test('requests arrive in order and once, however often they are sent', async () => {
  const ingress = new LossyIngress()
  const { session } = opened(ingress)
  session.prompt('one', { id: 'one' })
  session.prompt('two', { id: 'two', when: 'later' })
  session.stop()
  session.set({ limits: { maxTurns: 3 } })
  expect(() => session.set({ until: [{ name: 'npm test' }] })).toThrow('are set when its worker starts')
  expect(session.snapshot.status).toBe('running')
  await session.close()
  expect(ingress.heard.map(({ request }) => request)).toEqual([
    { type: 'prompt', content: 'one' },
    { type: 'prompt', content: 'two', when: 'later' },
    { type: 'stop' },
    { type: 'set', change: { limits: { maxTurns: 3 } } },
  ])
  expect(() => session.prompt('three')).toThrow('The session is closed.')
})

test('a message that the cluster refuses is returned', async () => {
  const ingress = new LossyIngress()
  ingress.refuses = (type) => type === 'prompt'
  const { session, events } = opened(ingress)
  session.prompt('one', { id: 'one' })
  session.stop()
  await session.close()
  expect(events.find(({ type }) => type === 'failed')).toMatchObject({
    error: { message: 'No such thing.' },
    givenBack: [{ id: 'one', content: 'one' }],
  })
  expect(session.snapshot.queue).toEqual([])
  expect(ingress.heard.map(({ request }) => request.type)).toEqual(['stop'])
})

test('the reason of a stall is emitted once', async () => {
  const ingress = new LossyIngress()
  ingress.stalled = { invocation: 'inv_1', needsResume: true, message: 'The engine has paused it.' }
  const { session, events } = opened(ingress)
  const looks = 6
  for (let look = 0; look < looks; look++) await session.settled()
  expect(events.filter(({ type }) => type === 'note')).toEqual([{ type: 'note', text: 'The engine has paused it.' }])
  await session.close()
})
