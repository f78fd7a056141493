import { type SessionRow, type SessionSource, CatalogSource } from '@halting/analysis/view'
import { createClusterClient } from '@halting/restate/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ClusterCatalog } from '../../src/inspect/cluster-catalog.ts'
import { servedCluster, type ServedCluster } from '../support/cluster.ts'
import { programInMemory } from '../support/program-in-memory.ts'

let served: ServedCluster | undefined
beforeAll(async () => {
  served = await servedCluster([
    { content: [{ type: 'text', text: 'hello' }] },
    { content: [{ type: 'text', text: 'again' }] },
  ])
})
afterAll(() => served?.close())

async function opened(words: readonly string[] = []): Promise<SessionSource> {
  const url = served?.url ?? ''
  const program = programInMemory({ cwd: '/', env: {} })
  return new CatalogSource(await ClusterCatalog.open({ cluster: url, admin: url }, words, program))
}

async function rowsOf(source: SessionSource): Promise<readonly SessionRow[]> {
  const rows: SessionRow[] = []
  for await (const row of source.list(new AbortController().signal)) rows.push(row)
  return rows
}

async function runs(sessionId: string, id: string): Promise<void> {
  const client = createClusterClient({ ingress: served?.url ?? '' })
  await client.request(sessionId, { type: 'prompt', content: 'go' }, { id })
  await client.result(sessionId, id, { wait: true })
}

test('shows sessions of a cluster like files, and updates them as they change', async () => {
  await runs('s-1', 'p-1')
  const source = await opened()
  expect(source.title).toBe(`The cluster at ${served?.url}`)
  // The result is available a moment before the status.
  await expect
    .poll(() => rowsOf(source))
    .toMatchObject([{ key: 's-1', path: null, ending: 'completed', turns: 1, runs: 1, isLive: false, title: 'go' }])
  const heard: string[] = []
  const stop = source.watch((keys) => void heard.push(...keys))
  await runs('s-1', 'p-2')
  await expect.poll(() => heard, { timeout: 10_000 }).toContain('s-1')
  stop()
  await expect.poll(() => rowsOf(source)).toMatchObject([{ key: 's-1', runs: 2, turns: 2 }])
  const view = await source.session('s-1')
  expect(view?.runs.map(({ why }) => why)).toEqual([
    expect.stringContaining('completed') as string,
    expect.stringContaining('Earlier runs: run 1 completed.') as string,
  ])
  expect(await source.records('s-1', 1, 0, 1)).toMatchObject([{ type: 'start' }])
  expect(await source.parts('s-1', 1, 0, 9)).toContainEqual({ kind: 'answer', text: 'again' })
})

test('accepts a named cluster session, and reports an unknown one before it serves anything', async () => {
  expect(await rowsOf(await opened(['s-1']))).toHaveLength(1)
  await expect(opened(['s-9'])).rejects.toThrow('No conversation found with session ID: s-9')
})
