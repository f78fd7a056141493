// Spec R-ACP-17, R-ACP-18: an editor uses sessions of a cluster like local ones.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { afterEach, expect, test } from 'vitest'
import { say, type Talk, talk } from '../support/acp-program.ts'
import { type ServedCluster, servedCluster } from '../support/cluster.ts'
import { call, here, installProgram } from '../support/program.ts'

installProgram()

const clusters: ServedCluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close()
})

async function served(): Promise<ServedCluster> {
  const touch = { content: [call('Bash', { command: 'touch made' })] }
  const made = await servedCluster([touch, { content: 'One.' }, { content: 'Two.' }])
  clusters.push(made)
  return made
}

const onCluster = (url: string): readonly string[] => ['--cluster', url, '--admin', url]
const newSession = ({ agent }: Talk) => agent.request(methods.agent.session.new, { cwd: here(), mcpServers: [] })

interface Update {
  readonly sessionUpdate?: string
  readonly content?: { readonly text?: string }
}

function updates({ wire }: Talk): readonly Update[] {
  return wire.said.flatMap(({ message }) => {
    const { update } = (message['params'] ?? {}) as { readonly update?: Update }
    return update === undefined ? [] : [update]
  })
}

const textOf = (talked: Talk, kind: string): string =>
  updates(talked)
    .flatMap(({ sessionUpdate, content }) => (sessionUpdate === kind ? [content?.text ?? ''] : []))
    // The notes that the user sees at the start.
    .filter((text) => !text.includes('is on the cluster'))
    .join('|')

test('lists a new session after a question and its answer; another editor loads it with its history and continues', async () => {
  const { url, base } = await served()
  const first = await talk(onCluster(url))
  const { sessionId, modes, configOptions } = await newSession(first)
  expect(modes?.availableModes.map(({ id }) => id)).toEqual(['default', 'acceptEdits', 'plan', 'dontAsk'])
  expect(configOptions?.map(({ id }) => id)).toContain('_halting.max_turns')
  const { agent } = first
  expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('first') })).toMatchObject({
    stopReason: 'end_turn',
  })
  expect(first.asked).toHaveLength(1)
  expect(existsSync(join(base, sessionId, 'made'))).toBe(true)
  expect(textOf(first, 'agent_message_chunk')).toBe('One.')
  const { sessions } = await agent.request(methods.agent.session.list, {})
  expect(sessions.map((session) => session.sessionId)).toEqual([sessionId])
  first.child.stdin?.end()
  expect(await first.exited()).toBe(0)

  const second = await talk(onCluster(url))
  await second.agent.request(methods.agent.session.load, { sessionId, cwd: here(), mcpServers: [] })
  expect([textOf(second, 'user_message_chunk'), textOf(second, 'agent_message_chunk')]).toEqual(['first', 'One.'])
  const options = await second.agent.request(methods.agent.session.setConfigOption, {
    sessionId,
    configId: '_halting.max_turns',
    value: '7',
  })
  expect(options.configOptions.find(({ id }) => id === '_halting.max_turns')).toMatchObject({ currentValue: '7' })
  await second.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'acceptEdits' })
  expect(await second.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('second') })).toMatchObject({
    stopReason: 'end_turn',
  })
  expect(textOf(second, 'agent_message_chunk')).toBe('One.|Two.')
  expect([...first.strangers, ...second.strangers]).toEqual([])
})

test('ends the run on the cluster after a cancel; refuses options that a worker does not support', async () => {
  const { url } = await served()
  const talked = await talk(onCluster(url), { permission: () => new Promise(() => undefined) })
  const { sessionId } = await newSession(talked)
  const prompt = talked.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('first') })
  while (talked.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await talked.agent.notify(methods.agent.session.cancel, { sessionId })
  expect(await prompt).toMatchObject({ stopReason: 'cancelled' })
  await expect(
    talked.agent.request(methods.agent.session.new, {
      cwd: here(),
      mcpServers: [{ name: 'x', command: 'x', args: [], env: [] }],
    }),
  ).rejects.toThrow('uses the MCP servers of its worker')
  await expect(talked.agent.request(methods.agent.session.delete, { sessionId })).rejects.toThrow(
    'cannot delete sessions of a cluster',
  )
})

test('leaves a session with a pending question when the editor exits, and asks the editor that resumes it', async () => {
  const { url, cluster } = await served()
  const first = await talk(onCluster(url), { permission: () => new Promise(() => undefined) })
  const { sessionId } = await newSession(first)
  first.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('first') }).catch(() => undefined)
  while (first.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  first.child.stdin?.end()
  expect(await first.exited()).toBe(0)
  expect(cluster.requests.map(({ request }) => request.type)).toEqual(['prompt'])
  const second = await talk(onCluster(url))
  await second.agent.request(methods.agent.session.resume, { sessionId, cwd: here(), mcpServers: [] })
  while (!textOf(second, 'agent_message_chunk').includes('One.')) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(second.asked).toHaveLength(1)
})

test('lets a run continue after SIGTERM, and prints how to return', async () => {
  const made = await servedCluster([
    { content: [call('Bash', { command: 'touch made; sleep 2' })] },
    { content: 'Done.' },
  ])
  clusters.push(made)
  const talking = await talk(onCluster(made.url))
  const { sessionId } = await newSession(talking)
  const prompt = { sessionId, prompt: say('sleep') }
  const answered = talking.agent.request(methods.agent.session.prompt, prompt).catch(() => undefined)
  await expect.poll(() => talking.asked.length, { timeout: 20_000 }).toBe(1)
  talking.child.kill('SIGTERM')
  expect(await talking.exited()).toBe(143)
  await answered
  expect(talking.stderr()).toContain(`Resume: halting --cluster ${made.url} --resume ${sessionId}`)
  expect(made.cluster.requests.map(({ request }) => request.type)).not.toContain('interrupt')
})
