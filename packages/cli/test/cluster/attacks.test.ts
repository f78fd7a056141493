// Holds rules of docs/spec: R-WORK-13, R-WORK-12, R-MENTION-2: how clients of a cluster session can access its worker's machine.
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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

async function ask({ url }: ServedCluster, handler: string, body: unknown): Promise<unknown> {
  const response = await fetch(`${url}/halting_session/s1/${handler}`, { method: 'POST', body: JSON.stringify(body) })
  return response.json()
}

async function request(cluster: ServedCluster, id: string, asked: object): Promise<unknown> {
  return ask(cluster, 'request', { id, request: asked })
}

const resultOf = (cluster: ServedCluster, id: string): Promise<unknown> => ask(cluster, 'result', { id, wait: true })

test.each(['userSettings', 'projectSettings', 'localSettings'])(
  'refuses an answer that would write %s of the worker, and writes nothing',
  async (destination) => {
    const cluster = await served([{ content: [call('Bash', { command: 'touch made' })] }, { content: 'Done.' }])
    await request(cluster, 'p', { type: 'prompt', content: 'go' })
    const answer = {
      behavior: 'allow',
      updatedPermissions: [{ type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash' }], destination }],
    }
    const asked = await questionOf(cluster)
    await request(cluster, 'a', { type: 'answer', callId: asked.callId, answer })
    await resultOf(cluster, 'p')
    const home = dirname(cluster.base)
    expect(existsSync(join(cluster.base, 's1', 'made'))).toBe(false)
    for (const folder of [home, join(home, '.config'), join(cluster.base, 's1')])
      for (const name of ['.halting', '.claude', 'halting']) expect(existsSync(join(folder, name))).toBe(false)
    expect(JSON.stringify(await cluster.cluster.records('s1'))).toContain('cannot change the settings of its worker')
  },
)

test('accepts a rule for the session', async () => {
  const command = 'touch made'
  const cluster = await served([{ content: [call('Bash', { command })] }, { content: 'Done.' }])
  await request(cluster, 'p', { type: 'prompt', content: 'go' })
  const { callId } = await questionOf(cluster)
  const rules = [{ toolName: 'Bash', ruleContent: command }]
  const updatedPermissions = [{ type: 'addRules', behavior: 'allow', rules, destination: 'session' }]
  await request(cluster, 'a', { type: 'answer', callId, answer: { behavior: 'allow', updatedPermissions } })
  await resultOf(cluster, 'p')
  expect(existsSync(join(cluster.base, 's1', 'made'))).toBe(true)
})

test.each([
  '@../s2/secret.txt',
  '@~/secret.txt',
  '@HOME/secret.txt',
  '@/etc/passwd',
  '@../s2',
  '@link',
  '@"../s2/secret.txt"',
])("includes nothing from outside the session's folder for a prompt with %s", async (mention) => {
  const cluster = await served([{ content: 'Done.' }, { content: 'Done.' }])
  const home = dirname(cluster.base)
  mkdirSync(join(cluster.base, 's2'), { recursive: true })
  mkdirSync(join(cluster.base, 's1'))
  writeFileSync(join(cluster.base, 's2', 'secret.txt'), 'hush-hush')
  writeFileSync(join(home, 'secret.txt'), 'hush-hush')
  symlinkSync(join(home, 'secret.txt'), join(cluster.base, 's1', 'link'))
  await request(cluster, 'p', { type: 'prompt', content: `See ${mention.replace('HOME', home)}` })
  await resultOf(cluster, 'p')
  const sent = JSON.stringify(cluster.service.requests)
  expect(sent).not.toMatch(/hush-hush|root:x|mentioned by the user/)
})

test('refuses a mode that the worker does not have, and the session continues', async () => {
  const cluster = await served([{ content: [call('Bash', { command: 'touch made' })] }, { content: 'Done.' }])
  await request(cluster, 'm', { type: 'set', change: { permissionMode: 'bypassPermissions' } })
  await request(cluster, 'p', { type: 'prompt', content: 'go' })
  const { callId } = await questionOf(cluster)
  const answer = {
    behavior: 'allow',
    updatedPermissions: [{ type: 'setMode', mode: 'bypassPermissions', destination: 'session' }],
  }
  await request(cluster, 'a', { type: 'answer', callId, answer })
  await resultOf(cluster, 'p')
  expect(existsSync(join(cluster.base, 's1', 'made'))).toBe(false)
})

async function questionOf(cluster: ServedCluster): Promise<{ readonly callId: string }> {
  for (;;) {
    const { questions } = (await ask(cluster, 'status', {})) as { readonly questions: readonly { callId: string }[] }
    const [question] = questions
    if (question !== undefined) return question
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
