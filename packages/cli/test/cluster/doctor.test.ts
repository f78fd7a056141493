// Holds rules of docs/spec: R-LIST-8
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { programInMemory } from '../support/program-in-memory.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

type Answers = (path: string, text: string) => readonly [status: number, body: unknown]

async function answering(answers: Answers): Promise<string> {
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => (text += String(piece)))
    request.on('end', () => {
      const [status, body] = answers(request.url ?? '', text)
      response.writeHead(status, { connection: 'close' }).end(JSON.stringify(body))
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // True: it listens on a port, so its address has one.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Engine {
  readonly version?: string
  readonly worker?: string
  readonly call?: readonly [status: number, body: unknown]
  readonly aheadMs?: number
  readonly work?: readonly object[]
  /** A worker with an earlier format that still has work. */
  readonly older?: string
}

function engine({
  version = '1.7.12',
  worker,
  call = [200, {}],
  aheadMs = 0,
  work = [],
  older,
}: Engine): Promise<string> {
  return answering((path, text) => {
    if (path === '/version') return [200, { version }]
    if (path === '/restate/health') return [200, { services: [] }]
    if (path.startsWith('/halting_session/')) return call
    const services = [{ name: 'halting_session' }]
    const deployments = [
      ...(worker === undefined ? [] : [{ id: 'dp_1', uri: `${worker}/`, services }]),
      ...(older === undefined ? [] : [{ id: 'dp_0', uri: `${older}/`, services }]),
    ]
    const earlier = [{ name: 'halting_session', metadata: { 'halting.format': '0' } }]
    if (path === '/deployments/dp_0') return [200, { services: earlier }]
    if (path === '/deployments') return [200, { deployments }]
    if (path === '/services/halting_session')
      return [200, { deployment_id: 'dp_1', metadata: { 'halting.format': '1' } }]
    if (text.includes('now()')) return [200, { rows: [{ now_ms: Date.now() + aheadMs }] }]
    if (text.includes('pinned_deployment_id')) return [200, { rows: ['dp_1', 'dp_0'].map((id) => ({ id, count: 2 })) }]
    if (text.includes('sys_invocation')) return [200, { rows: work }]
    return [200, { rows: [{ sessions: 1_234, bytes: 5_000_000 }] }]
  })
}

const worker = (): Promise<string> => answering(() => [200, { ready: true }])

async function look(cluster: string, admin = cluster): Promise<{ readonly code: number; readonly text: string }> {
  const program = programInMemory({ cwd: '/', env: {} })
  const code = await doctor({ cluster, admin }, program)
  return { code, text: program.written() }
}

test('reports a healthy cluster', async () => {
  const at = await worker()
  const url = await engine({ worker: at })
  expect(await look(url)).toEqual({
    code: 0,
    text: [
      `ok  engine          accepts requests at ${url}`,
      `ok  administration  ${url}, version 1.7.12`,
      'ok  calls           a worker answers without a token',
      `ok  worker          ${at} is ready; new sessions go there, format 1, has the work of 2`,
      'ok  sessions        1,234 sessions with 5 MiB of records, 0 with work',
      'ok  clock           the clock of the engine differs by 0.0 s',
      '',
      'The cluster can run sessions.',
      '',
    ].join('\n'),
  })
})

test.each([
  ['none is registered', {}, 1, /!! {2}workers +none is registered\n.*halting serve --restate URL --register/],
  [
    'a token is wanted',
    { call: [401, { message: 'no' }] },
    1,
    /!! {2}calls +a worker refuses calls without a token\n.*HALTING_CLUSTER_TOKEN/,
  ],
  [
    'the version is another',
    { version: '1.4.0' },
    1,
    /-- {2}administration.*version 1\.4\.0\n +halting is tested with version 1\.7\.12/,
  ],
  [
    'the clock is another',
    { aheadMs: 3_600_000 },
    1,
    /-- {2}clock +the clock of the engine is 3600\.\d s ahead\n.*NTP/,
  ],
  [
    'work is paused',
    { work: [{ status: 'paused', count: 3 }] },
    1,
    /-- {2}sessions.*3 with work, 3 paused\n.*--state paused/,
  ],
  ['work fails', { work: [{ status: 'backing-off', count: 2 }] }, 1, /-- {2}sessions.*2 being retried after a failure/],
] as const)('reports that %s', async (_what, given, code, text) => {
  expect(await look(await engine(given))).toEqual({ code, text: expect.stringMatching(text) as string })
})

test('reports an unreachable worker as broken only if the engine cannot reach it either', async () => {
  const gone = 'http://127.0.0.1:1'
  const reached = await look(await engine({ worker: gone }))
  expect(reached).toEqual({ code: 0, text: expect.stringMatching(/-- {2}worker.*does not answer/) as string })
  const lost = await look(await engine({ worker: gone, call: [404, { message: 'service not found' }] }))
  expect(lost).toEqual({ code: 1, text: expect.stringMatching(/!! {2}worker.*does not answer/) as string })
})

test('names a worker with an earlier format that still has work, and how to move its sessions', async () => {
  const [at, older] = [await worker(), await worker()]
  const { code, text } = await look(await engine({ worker: at, older }))
  expect(code).toBe(0)
  expect(text).toMatch(/ok {2}worker.*new sessions go there, format 1/)
  expect(text).toContain(`${older} is ready; has the work of 2, and stores format 0`)
  expect(text).toMatch(/--take-over.*SIGTERM/)
})

test('names an address that does not answer, and its purpose', async () => {
  const gone = 'http://127.0.0.1:1'
  expect(await look(gone)).toEqual({
    code: 1,
    text: expect.stringMatching(
      /!! {2}engine.*does not answer[^]*!! {2}administration.*does not answer[^]*--admin/,
    ) as string,
  })
})
