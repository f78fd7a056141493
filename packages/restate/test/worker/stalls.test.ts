// Holds rules of docs/spec.md: R-POIS-2
import { expect, test } from 'vitest'
import { SetAsideError } from '../../src/attempts/set-aside.ts'
import type { WorkOfSession } from '../../src/worker/engine-admin.ts'
import { Stalls } from '../../src/worker/stalls.ts'

const { message } = new SetAsideError('s-17', [])

function work(sessionId: string, status: WorkOfSession['status'], failure: string): WorkOfSession {
  return { id: `inv_${sessionId}`, sessionId, status, deployment: 'dp_1', failure }
}

test('the work at a session that is set aside is paused, and no other', async () => {
  const paused: string[] = []
  const stalls = new Stalls({ pause: async (id) => void paused.push(id) })
  await stalls.see([
    work('fails', 'backing-off', 'no network'),
    work('aside', 'backing-off', `[500 Internal] ${message}`),
    work('paused', 'paused', `[500 Internal] ${message}`),
  ])
  expect(paused).toEqual(['inv_aside'])
  expect(['fails', 'aside', 'paused'].map((id) => stalls.of(id)?.kind)).toEqual([undefined, 'set_aside', 'set_aside'])
})

test('a status says why work is set aside, also where the engine does not pause it', async () => {
  const stalls = new Stalls({ pause: () => Promise.reject(new Error('away')) })
  await expect(stalls.see([work('aside', 'backing-off', message)])).rejects.toThrow('away')
  expect(stalls.of('aside')?.message).toBe(message)
})
