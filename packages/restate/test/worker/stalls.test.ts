// Holds rules of docs/spec: R-POIS-2, R-POIS-5a
import { expect, test } from 'vitest'
import { SetAsideError } from '../../src/attempts/set-aside.ts'
import type { WorkOfSession } from '../../src/worker/engine-admin.ts'
import { Stalls } from '../../src/worker/stalls.ts'

const { message } = new SetAsideError('s-17', [])

function work(sessionId: string, status: WorkOfSession['status'], failure: string): WorkOfSession {
  return { id: `inv_${sessionId}`, sessionId, status, deployment: 'dp_1', failure }
}

const away = (): Promise<never> => Promise.reject(new Error('away'))

test('only the work of a session that is set aside is paused', async () => {
  const paused: string[] = []
  const stalls = new Stalls({
    pause: async (id) => void paused.push(id),
    retryNow: away,
    setAside: async () => new Map([['aside', 'its work has ended three workers']]),
  })
  await stalls.update([
    work('released', 'backing-off', message),
    work('fails', 'backing-off', 'no network'),
    work('aside', 'backing-off', `[500 Internal] ${message}`),
    work('paused', 'paused', `[500 Internal] ${message}`),
  ])
  expect(paused).toEqual(['inv_aside'])
  expect(['fails', 'aside', 'paused'].map((id) => stalls.stallOf(id)?.kind)).toEqual([
    undefined,
    'set_aside',
    'set_aside',
  ])
})

test('the status says why work is set aside, even if the engine does not pause it', async () => {
  const stalls = new Stalls({ pause: away, retryNow: away, setAside: away })
  await expect(stalls.update([work('aside', 'backing-off', message)])).rejects.toThrow('away')
  expect(stalls.stallOf('aside')?.message).toBe(message)
})

test('work that is released during the pause is resumed, even if the engine shows that late', async () => {
  const changes: string[] = []
  const isSetAside = new Set(['released', 'aside'])
  const stalls = new Stalls({
    pause: async (id) => void changes.push(`pause ${id}`),
    retryNow: async (id) => void changes.push(`resume ${id}`),
    setAside: async (ids) => new Map(ids.filter((id) => isSetAside.has(id)).map((id) => [id, 'it ended workers'])),
  })
  await stalls.update([work('released', 'backing-off', message), work('aside', 'backing-off', message)])
  isSetAside.delete('released')
  const paused = [work('released', 'paused', 'broken pipe'), work('aside', 'paused', message)]
  for (let look = 0; look < 4; look++) await stalls.update(look === 0 ? paused : paused.slice(1))
  expect(changes).toEqual(['pause inv_released', 'pause inv_aside', 'resume inv_released'])
})

test('the status says why work is set aside that the engine paused in the middle', async () => {
  const stalls = new Stalls({
    pause: away,
    retryNow: away,
    setAside: async () => new Map([['s-17', 'its work has ended three workers']]),
  })
  await stalls.update([
    work('s-17', 'paused', 'stream closed because of a broken pipe'),
    work('other', 'paused', 'broken'),
  ])
  expect(stalls.stallOf('s-17')).toEqual({
    kind: 'set_aside',
    invocation: 'inv_s-17',
    needsResume: true,
    message:
      'This session is set aside: its work has ended three workers. Release it with: halting sessions release s-17 --cluster URL',
  })
  expect(stalls.stallOf('other')?.kind).toBe('paused')
})

test('work that is released right before the pause is resumed in the same poll', async () => {
  const changes: string[] = []
  const isSetAside = new Set(['released'])
  const stalls = new Stalls({
    async pause(id) {
      isSetAside.delete('released')
      changes.push(`pause ${id}`)
    },
    retryNow: async (id) => void changes.push(`resume ${id}`),
    setAside: async (ids) => new Map(ids.filter((id) => isSetAside.has(id)).map((id) => [id, 'it ended workers'])),
  })
  await stalls.update([work('released', 'backing-off', message)])
  expect(changes).toEqual(['pause inv_released', 'resume inv_released'])
})
