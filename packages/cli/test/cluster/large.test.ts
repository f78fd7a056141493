// Holds a rule of docs/spec: R-CLU-11b: a cluster without a payload store refuses what is too large to store, and loses nothing else.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { Flags } from '../../src/flags/flags.ts'
import { type ServedCluster, servedCluster } from '../support/cluster.ts'
import { call } from '../support/program.ts'

const clusters: ServedCluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close()
})

const mebibyte = 1024 * 1024

async function served(replies: readonly unknown[], flags: Flags = {}): Promise<ServedCluster> {
  const made = await servedCluster(replies, flags)
  clusters.push(made)
  return made
}

async function ask({ url }: ServedCluster, handler: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${url}/halting_session/s1/${handler}`, { method: 'POST', body: JSON.stringify(body) })
  const answer: unknown = await response.json()
  return { status: response.status, answer }
}

const prompt = (cluster: ServedCluster, id: string, content: string): Promise<unknown> =>
  ask(cluster, 'request', { id, request: { type: 'prompt', content } })
const resultOf = (cluster: ServedCluster, id: string): Promise<unknown> => ask(cluster, 'result', { id, wait: true })
const done = { status: 200, answer: { state: 'answered', result: { result: 'Done.' } } }
const store = expect.stringContaining('no payload store, which takes more: halting serve --payloads')

test.each([8, 12, 40])(
  'refuses a prompt of %i MiB with advice, and the session accepts the next one',
  async (mebibytes) => {
    const cluster = await served([{ content: 'Done.' }])
    const refused = await prompt(cluster, 'p', 'x'.repeat(mebibytes * mebibyte))
    expect(refused).toEqual({ status: 400, answer: { message: store } })
    expect(await resultOf(cluster, 'p')).toEqual({ status: 200, answer: { state: 'unknown' } })
    await prompt(cluster, 'q', 'hello')
    expect(await resultOf(cluster, 'q')).toMatchObject(done)
    expect(JSON.stringify(await cluster.cluster.records('s1'))).not.toContain('xxx')
  },
)

test('refuses the prompt that no longer fits if several small ones would form one large record', async () => {
  const wait = call('Bash', { command: 'touch begun; while [ ! -e go ]; do sleep 0.05; done' })
  const cluster = await served([{ content: [wait] }, { content: 'Done.' }], { permissionMode: 'bypassPermissions' })
  await prompt(cluster, 'p', 'begin')
  // Prompts before the first request join the run at once.
  await vi.waitUntil(() => existsSync(join(cluster.base, 's1', 'begun')), { timeout: 20_000 })
  await prompt(cluster, 'a', 'a'.repeat(5 * mebibyte))
  await prompt(cluster, 'b', 'b'.repeat(5 * mebibyte))
  expect(await resultOf(cluster, 'b')).toEqual({
    status: 200,
    answer: {
      state: 'refused',
      because: expect.stringMatching(/^Messages that wait for a run have 1048\d+ bytes .*no payload store/),
    },
  })
  writeFileSync(join(cluster.base, 's1', 'go'), '')
  // It is too long for the model, but part of the run.
  expect(await resultOf(cluster, 'a')).toMatchObject({ answer: { result: { terminal_reason: 'compaction_thrash' } } })
  expect(JSON.stringify(await cluster.cluster.records('s1'))).toContain('aaaa')
})
