// Holds rules of docs/spec: R-CLU-11, R-WORK-4: requests that come again or that nobody waits for, and limits over many attempts of the engine.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Flags } from '../../src/flags/flags.ts'
import { type ServedCluster, servedCluster } from '../support/cluster.ts'
import { call } from '../support/program.ts'

const clusters: ServedCluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close()
})

async function served(replies: readonly unknown[], flags: Flags = {}): Promise<ServedCluster> {
  const made = await servedCluster(replies, flags)
  clusters.push(made)
  return made
}

async function ask({ url }: ServedCluster, handler: string, body: unknown, session = 's1'): Promise<unknown> {
  const path = `${url}/halting_session/${session}/${handler}`
  return (await fetch(path, { method: 'POST', body: JSON.stringify(body) })).json()
}

const request = (cluster: ServedCluster, id: string, asked: object, session?: string): Promise<unknown> =>
  ask(cluster, 'request', { id, request: asked }, session)
const resultOf = (cluster: ServedCluster, id: string, session?: string): Promise<unknown> =>
  ask(cluster, 'result', { id, wait: true }, session)

interface Asked {
  readonly questions: readonly { readonly callId: string }[]
}

async function questionOf(cluster: ServedCluster): Promise<string> {
  for (;;) {
    // As the handler returns it.
    const [question] = ((await ask(cluster, 'status', {})) as Asked).questions
    if (question !== undefined) return question.callId
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The names of 5,000 messages are remembered. */
const others = process.env['HALTING_DEEP'] === undefined ? 100 : 5_100
const allow = { behavior: 'allow' } as const

test('accepts each message name once per session, even after thousands of others', async () => {
  const cluster = await served([{ content: 'One.' }, { content: 'Two.' }, { content: 'Three.' }])
  expect(await request(cluster, 'p', { type: 'prompt', content: 'first' })).toBe(true)
  const first = await resultOf(cluster, 'p')
  expect(first).toMatchObject({ result: { result: 'One.' } })
  for (const asked of [{ type: 'prompt', content: 'another' }, { type: 'compact' }, { type: 'close' }])
    expect(await request(cluster, 'p', asked)).toBe(false)
  // A message with a record stays known.
  for (let number = 0; number < others; number += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => request(cluster, `n-${number + index}`, { type: 'interrupt' })),
    )
  await request(cluster, 'p', { type: 'prompt', content: 'first' })
  expect(await resultOf(cluster, 'p')).toEqual(first)
  // Another session may use the same name.
  await request(cluster, 'p', { type: 'prompt', content: 'first' }, 's2')
  expect(await resultOf(cluster, 'p', 's2')).toMatchObject({ result: { result: 'Two.' } })
  expect(cluster.service.requests).toHaveLength(2)
})

test('refuses approvals of calls that are not pending: before a run, of another call, after the end', async () => {
  const bash = (command: string): unknown => ({ content: [call('Bash', { command })] })
  const cluster = await served([bash('touch one'), { content: 'Done.' }, bash('touch two'), { content: 'Done.' }])
  const made = (name: string): boolean => existsSync(join(cluster.base, 's1', name))
  expect(await request(cluster, 'early', { type: 'answer', callId: 'any', answer: allow })).toBe(false)
  await request(cluster, 'p', { type: 'prompt', content: 'go' })
  const callId = await questionOf(cluster)
  await request(cluster, 'other', { type: 'answer', callId: `${callId}x`, answer: allow })
  await request(cluster, 'ended', { type: 'approve', approvals: { [callId]: allow } })
  expect(await questionOf(cluster)).toBe(callId)
  expect(made('one')).toBe(false)
  await request(cluster, 'no', { type: 'answer', callId, answer: { behavior: 'deny', message: 'No.' } })
  await request(cluster, 'late', { type: 'answer', callId, answer: allow })
  await resultOf(cluster, 'p')
  expect(made('one')).toBe(false)
  await request(cluster, 'after', { type: 'answer', callId, answer: allow })
  await request(cluster, 'q', { type: 'prompt', content: 'go on' })
  const second = await questionOf(cluster)
  // An answer to a call of an earlier run does not apply to this one.
  await request(cluster, 'old', { type: 'answer', callId, answer: allow })
  expect([second === callId, await questionOf(cluster), made('two')]).toEqual([false, second, false])
})

test('applies deny rules to an approval with changed input', async () => {
  const replies = [{ content: [call('Bash', { command: 'touch harmless' })] }, { content: 'Done.' }]
  const cluster = await served(replies, { disallowedTools: ['Bash(touch forbidden)'] })
  await request(cluster, 'p', { type: 'prompt', content: 'go' })
  const callId = await questionOf(cluster)
  const answer = { ...allow, updatedInput: { command: 'touch forbidden' } }
  await request(cluster, 'a', { type: 'answer', callId, answer })
  await resultOf(cluster, 'p')
  const made = (name: string): boolean => existsSync(join(cluster.base, 's1', name))
  expect([made('forbidden'), made('harmless')]).toEqual([false, false])
})

test('counts retries over all attempts while a worker is killed at every record', async () => {
  const cluster = await served(Array.from({ length: 100 }, () => ({ content: 'Done.' })))
  await request(cluster, 'p', { type: 'prompt', content: 'go' })
  const ended = new AbortController()
  const over = resultOf(cluster, 'p').finally(() => ended.abort())
  for (let seen = 0; !ended.signal.aborted;) {
    const { length } = await cluster.cluster.records('s1')
    if (length > seen) cluster.cluster.kill('s1')
    seen = length
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  // It may answer in between; otherwise the run ends with unknown results.
  expect(JSON.stringify(await over)).toMatch(/The process ended repeatedly during this model request|"result":"Done\."/)
  expect(cluster.service.requests.length).toBeLessThanOrEqual(11)
})

test.each<[Flags, object]>([
  [{ maxTurns: 4 }, { terminal_reason: 'max_turns', num_turns: 4 }],
  [{ maxBudgetUsd: 0.3 }, { terminal_reason: 'budget_exhausted' }],
])('enforces the limit %j however often the worker is killed, and lets no request raise it', async (limits, ending) => {
  const bash = { content: [call('Bash', { command: 'echo x >> counted' })] }
  const replies = Array.from({ length: 100 }, () => bash)
  const cluster = await served(replies, { ...limits, permissionMode: 'bypassPermissions' })
  await request(cluster, 'p', { type: 'prompt', content: 'go' })
  let [seen, kills] = [0, 0]
  const ended = new AbortController()
  const over = resultOf(cluster, 'p').finally(() => ended.abort())
  while (!ended.signal.aborted) {
    const { length } = await cluster.cluster.records('s1')
    // But not so often that its model never answers, since that ends a run, too.
    if (length > seen + 2 && cluster.cluster.kill('s1')) {
      kills++
      seen = length
      await request(cluster, `set-${kills}`, { type: 'set', change: { limits: { maxTurns: 50, maxBudgetUsd: 9 } } })
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  expect(await over).toMatchObject({ result: ending })
  expect(kills).toBeGreaterThan(0)
  const { usd } = (await ask(cluster, 'status', {})) as { readonly usd: number }
  expect(usd).toBeLessThanOrEqual(limits.maxBudgetUsd ?? Infinity)
  // Work of a killed worker is reported as unknown, and not repeated.
  const { turns } = (await ask(cluster, 'status', {})) as { readonly turns: number }
  const done = countedIn(cluster).split('x').length - 1
  expect(done).toBeLessThanOrEqual(turns)
})

function countedIn({ base }: ServedCluster): string {
  const file = join(base, 's1', 'counted')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}
