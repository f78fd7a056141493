// Holds rules of docs/spec: R-WORK-14, R-WORK-9: error messages for typical mistakes with a cluster.
import { mkdirSync, existsSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { readSessionPage } from '../../src/cluster/session-pages.ts'
import { clusterAnswer, clusterClient } from '../../src/cluster/cluster-client.ts'
import { tenantBudget } from '../../src/cluster/tenant-budget.ts'
import { promptOnCluster } from '../../src/cluster/prompt.ts'
import { openRemoteSession } from '../../src/cluster/remote-session.ts'
import { openingFromFlags } from '../../src/cluster/session-opening.ts'
import { unreachableWorkerText, readSessionTrouble } from '../../src/cluster/unreachable-worker.ts'
import { sessionTable } from '../../src/cluster/list-text.ts'
import { withStallNotice } from '../../src/cluster/stall-notice.ts'
import { Workspaces } from '../../src/cluster/workspaces.ts'
import { type ServedCluster, servedCluster } from '../support/cluster.ts'
import { programInMemory } from '../support/program-in-memory.ts'

const servers: Server[] = []
const clusters: ServedCluster[] = []
const folders: string[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve))
  for (const cluster of clusters.splice(0)) await cluster.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A server that gives this answer to every request, and records the paths. */
async function answering(status: number, body: string): Promise<{ readonly url: string; readonly paths: string[] }> {
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url ?? '')
    response.writeHead(status, { connection: 'close' }).end(body)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // True: it listens on a port, so its address has one.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths }
}

const program = programInMemory({ cwd: '/', env: {} })
const statusAt = (cluster: string): Promise<unknown> =>
  clusterAnswer({ cluster }, clusterClient({ cluster }, program).status('s1'))

test('says that the port of a worker or the admin port does not accept requests', async () => {
  for (const [status, body] of [
    [405, '{"error":"GET /ready, or GET /live."}\n'],
    [404, ''],
  ] as const) {
    const { url } = await answering(status, body)
    await expect(statusAt(url)).rejects.toThrow(`${url} is not where the engine takes requests: HTTP ${status}`)
  }
})

test('names the port, and no worker, if there is no engine at the address', async () => {
  const hint = '--cluster is the address where the engine accepts requests, usually port 8080. Is it running?'
  const other = await answering(405, '{"error":"GET /ready, or GET /live."}\n')
  await expect(statusAt(other.url)).rejects.toThrow(hint)
  const budgetAt = (cluster: string, maxBudgetUsd?: number): Promise<number> =>
    tenantBudget({ cluster, ...(maxBudgetUsd !== undefined && { maxBudgetUsd }) }, ['acme'], program)
  await expect(budgetAt(other.url)).rejects.toThrow(`GET /live."} ${hint}`)
  const lost = await answering(404, 'Are you lost?')
  await expect(budgetAt(lost.url)).rejects.toThrow(`Are you lost? ${hint}`)
  const asks = 'This cluster asks for proof of its token: set HALTING_CLUSTER_TOKEN.'
  const refusing = await answering(401, JSON.stringify({ code: 401, message: asks, source: 'invocation' }))
  const refused = await budgetAt(refusing.url, 3).catch((error: unknown) => error)
  expect(refused).toHaveProperty('message', asks)
  const notes: string[] = []
  await withStallNotice(new Promise<void>((resolve) => setTimeout(resolve, 300)), {
    flags: { cluster: lost.url, admin: lost.url },
    sessionId: 's1',
    note: (text) => notes.push(text),
    delayMs: 1,
  })
  expect(notes).toEqual([expect.stringContaining(`answered with status 404: Are you lost? Trying again. ${hint}`)])
})

test('names the missing key of the worker, not of the client', async () => {
  const variables = { ANTHROPIC_API_KEY: '', ANTHROPIC_BASE_URL: 'https://service.test' }
  const made = await servedCluster([], { model: 'claude-sonnet-5-5' }, variables)
  clusters.push(made)
  const flags = { cluster: made.url, admin: made.url, print: true }
  const prompted = promptOnCluster(flags, ['hello'], program)
  await expect(prompted).rejects.toThrow(/^The worker has no key for its model\. No key for claude-sonnet-5-5\./)
})

test('says that a worker is missing if the engine knows no sessions, and names oversized values', async () => {
  const missing = { code: 404, message: "service 'halting_session' not found.", source: 'ingress' }
  const { url } = await answering(404, JSON.stringify(missing))
  await expect(statusAt(url)).rejects.toThrow('No worker is registered there. Use halting serve --register.')
  const full = await answering(413, 'length limit exceeded')
  await expect(statusAt(full.url)).rejects.toThrow('Put what is large into a file of the session.')
})

test("keeps the path of the cluster's address and of its admin address", async () => {
  const ingress = await answering(200, '{}')
  await statusAt(`${ingress.url}/restate/`)
  const admin = await answering(200, '{"rows":[]}')
  await readSessionPage({ cluster: ingress.url, admin: `${admin.url}/behind/a-proxy` }, { limit: 1 })
  expect([ingress.paths, new Set(admin.paths)]).toEqual([
    ['/restate/halting_session/s1/status'],
    new Set(['/behind/a-proxy/query']),
  ])
})

test('says that the request port is not the admin port', async () => {
  const { url } = await answering(400, '{"code":400,"message":"bad path: /query","source":"ingress"}')
  await expect(readSessionPage({ cluster: url, admin: url }, { limit: 1 })).rejects.toThrow(
    'Set --admin to the admin address',
  )
})

test('reports once what the engine is retrying while no worker answers', async () => {
  const failure = "error when calling 'http://127.0.0.1:9090/': Connection refused"
  const { url } = await answering(200, JSON.stringify({ rows: [{ last_failure: `${failure}\u001b[2J` }] }))
  const notes: string[] = []
  const flags = { cluster: url, admin: url }
  let answer = (_text: string): void => undefined
  const waits = withStallNotice(new Promise<string>((resolve) => (answer = resolve)), {
    flags,
    sessionId: "s'1",
    note: (text) => notes.push(text),
    delayMs: 1,
  })
  await expect.poll(() => notes.length).toBe(1)
  answer('done')
  expect(await waits).toBe('done')
  expect(notes).toEqual([
    expect.stringMatching(/The engine says: error when calling.*Connection refused.*halting serve --register/),
  ])
  expect(notes[0]).not.toContain('\u001b')
})

test('sends --tenant when a session starts, and refuses it for an existing one', async () => {
  expect(openingFromFlags({ tenant: 'acme', maxTurns: 3 })).toEqual({ tenant: 'acme', maxTurns: 3 })
  const made = await servedCluster([{ content: 'Done.' }])
  clusters.push(made)
  const flags = { cluster: made.url, admin: made.url }
  const note = (): void => undefined
  const { session } = await openRemoteSession({ ...flags, tenant: 'acme' }, program, { supportedFlags: [], note })
  session.prompt('hello')
  await session.settled()
  await session.close()
  expect(made.cluster.requests[0]).toMatchObject({ opening: { tenant: 'acme' } })
  const again = openRemoteSession({ ...flags, tenant: 'other', resume: session.id }, program, {
    supportedFlags: [],
    note,
  })
  await expect(again).rejects.toThrow('cannot be changed. Remove --tenant.')
})

test('removes the folder of a removed session, and no other', async () => {
  const base = mkdtempSync(join(tmpdir(), 'halting-removed-'))
  folders.push(base)
  const workspaces = new Workspaces({ base })
  const [gone, other] = await Promise.all(
    ['s-1', 's-2'].map((sessionId) => workspaces.folderFor({ sessionId, isNew: true })),
  )
  mkdirSync(join(gone ?? '', 'deep'))
  writeFileSync(join(gone ?? '', 'deep', 'file'), '')
  for (const sessionId of ['s-1', '../s-2', '.', '..', '', 's-1']) await workspaces.remove(sessionId)
  expect([existsSync(gone ?? ''), existsSync(other ?? ''), existsSync(base)]).toEqual([false, true, true])
})

test('R-LOST-6: names the unreachable worker, and since when, to a waiting client', async () => {
  const since = Date.now() - 180_000
  const row = {
    session: 's1',
    last_failure: "error when calling 'http://10.0.0.7:9080/'",
    code: 'RT0010',
    endpoint: 'http://10.0.0.7:9080/',
    since_ms: since,
  }
  const { url } = await answering(200, JSON.stringify({ rows: [{ ...row, code: null }, row] }))
  const flags = { cluster: url, admin: url }
  const awaited = (await readSessionTrouble(flags, ['s1'])).get('s1')?.unreachable
  expect(awaited).toEqual({ worker: 'http://10.0.0.7:9080', sinceMs: since })
  const words = unreachableWorkerText({ worker: 'http://10.0.0.7:9080', sinceMs: since }, since + 180_000)
  expect(words).toMatch(/^waits for worker http:\/\/10\.0\.0\.7:9080 since \d\d:\d\d:\d\d \(3 min 0 s\)$/)
  const listed = { sessionId: 's1', state: 'running', turns: 1, usd: 0, tokens: 0, questions: [], records: 4 } as const
  expect(sessionTable([{ ...listed, ...(awaited && { awaited }) }], since + 180_000, 200)).toContain(
    `${words}: start that worker again, or another one: halting serve --register`,
  )
  const notes: string[] = []
  await withStallNotice(new Promise<void>((resolve) => setTimeout(resolve, 300)), {
    flags,
    sessionId: 's1',
    note: (text) => notes.push(text),
    delayMs: 1,
  })
  expect(notes).toEqual([
    expect.stringMatching(/It waits for worker http:\/\/10\.0\.0\.7:9080 since .* Start that worker again/),
  ])
})
