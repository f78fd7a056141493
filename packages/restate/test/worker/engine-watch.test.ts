// Holds rules of docs/spec: R-WORK-6a
import { createServer } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { sessionMetadata } from '../../src/service/session-metadata.ts'
import { EngineAdmin } from '../../src/worker/engine-admin.ts'
import { EngineWatch, type EngineSnapshot } from '../../src/worker/engine-watch.ts'

interface Paused {
  modifiedAt: string
  failure: string
}

const url = 'http://10.0.0.7:9080'
const servers: { close(): void }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** The admin API of an engine with this paused work. */
async function engineWith(paused: Map<string, Paused>) {
  const asked: string[] = []
  const answer = (path: string, body: string): object => {
    if (path === '/deployments')
      return { deployments: [{ id: 'dp_1', uri: `${url}/`, services: [{ name: 'halting_session' }] }] }
    if (path !== '/query') return { name: 'halting_session', deployment_id: 'dp_1', metadata: sessionMetadata(false) }
    const all = [...paused]
    if (!body.includes('sys_journal_events'))
      return {
        rows: all.map(([id, { modifiedAt }]) => ({
          id,
          target_service_key: `s-${id}`,
          status: 'paused',
          modified_at: modifiedAt,
        })),
      }
    const named = all.filter(([id]) => body.includes(`'${id}'`))
    return {
      rows: named.flatMap(([id, { failure }]) => [
        { id, failure: 'an earlier one' },
        { id, failure },
      ]),
    }
  }
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    let body = ''
    request.on('data', (piece) => (body += String(piece)))
    request.on('end', () => response.end(JSON.stringify(answer(request.url ?? '', body))))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('A port has a number.')
  return { asked, admin: new EngineAdmin(`http://127.0.0.1:${address.port}`) }
}

function pausedWork(count: number): Map<string, Paused> {
  return new Map(
    Array.from({ length: count }, (_, index) => [`inv_${index}`, { modifiedAt: '1', failure: `failure ${index}` }]),
  )
}

/** What the next look of a worker sees. */
function nextLook(admin: EngineAdmin): Promise<EngineSnapshot> {
  return new Promise((resolve) => {
    const watch = new EngineWatch(admin, url, [
      (seen) => {
        watch.end()
        resolve(seen)
      },
    ])
  })
}

test.each([0, 10, 1_000])('a worker reads the engine by three requests if %i sessions are paused', async (count) => {
  const { asked, admin } = await engineWith(pausedWork(count))
  const first = await nextLook(admin)
  expect(first.resting.map(({ failure }) => failure)).toEqual(Array.from({ length: count }, (_, at) => `failure ${at}`))
  expect(asked.length, 'what was paused since is read at once').toBeLessThanOrEqual(5)
  asked.length = 0
  expect((await nextLook(admin)).resting).toEqual(first.resting)
  expect(asked).toEqual(['/deployments', '/services/halting_session', '/query'])
})

test('work that was resumed and paused again reports its new failure', async () => {
  const paused = pausedWork(2)
  const { admin } = await engineWith(paused)
  await nextLook(admin)
  paused.set('inv_1', { modifiedAt: '2', failure: 'another one' })
  const { resting } = await nextLook(admin)
  expect(resting.map(({ failure }) => failure)).toEqual(['failure 0', 'another one'])
})
