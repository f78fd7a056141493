// Holds rules of docs/spec: R-PROV-10, R-PROV-18 to R-PROV-23, R-PROV-27. Real provider packages, those of the workspace, in the real program against servers on this machine.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { startScriptedServer } from '@halting/models/scripted'
import { describe, expect, onTestFinished, test } from 'vitest'
import { installPackage, tinyProvider } from '../../agent/test/support/provider-packages.ts'
import { talk } from './support/acp-program.ts'
import { endHosts, host } from './support/host.ts'
import { call, here, installProgram, run } from './support/program.ts'

installProgram()
endHosts()

function person(settings: object) {
  const folder = mkdtempSync(join(here(), 'person-'))
  const [home, cwd] = [join(folder, 'home'), join(folder, 'work')]
  const own = join(home, '.halting')
  for (const each of [own, cwd]) mkdirSync(each, { recursive: true })
  writeFileSync(join(own, 'settings.json'), JSON.stringify(settings))
  return { home, cwd, own }
}

const secret = 'sk-test-0123456789abcdefghij'
const cloudSecret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'

async function claude(replies: readonly unknown[]) {
  const service = await startScriptedServer({ replies })
  onTestFinished(async () => service.close())
  const { home, cwd } = person({
    permissions: { allow: ['Bash'] },
    aiSdk: {
      models: {
        mine: {
          package: '@ai-sdk/anthropic',
          model: 'claude-x',
          options: { baseURL: `${service.url}/v1`, apiKey: '${MY_MODEL_KEY}' },
          price: { input: 1, output: 2 },
        },
      },
    },
  })
  const env = { HOME: home, MY_MODEL_KEY: secret, AWS_SECRET_ACCESS_KEY: cloudSecret }
  return {
    service,
    halting: (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
      run(['-p', 'hi', '--model', 'mine', ...args], { cwd, env: { ...env, ...more } }),
  }
}

describe('@ai-sdk/anthropic', () => {
  test('works with tools, and hides its keys from commands and records', async () => {
    const command = 'echo "key=$MY_MODEL_KEY cloud=$AWS_SECRET_ACCESS_KEY."'
    const { service, halting } = await claude([{ content: [call('Bash', { command })] }, { content: ['Done.'] }])
    const flags = ['--output-format', 'stream-json', '--verbose', '--max-thinking-tokens', '2000']
    const { status, stdout } = await halting(flags)
    expect(status).toBe(0)
    expect(stdout).toContain('key= cloud=.')
    expect(stdout).toContain('"result":"Done."')
    expect(service.requests).toHaveLength(2)
    expect(service.requests[0]?.body).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 2000 } })
    expect(stdout).not.toContain(secret)
  })

  test('passes a key with --pass-env, and redacts it in output of commands', async () => {
    const command = 'test -n "$MY_MODEL_KEY" && echo "got $MY_MODEL_KEY"'
    const { halting } = await claude([{ content: [call('Bash', { command })] }, { content: ['Done.'] }])
    const { stdout } = await halting(['--pass-env', 'MY_MODEL_KEY', '--output-format', 'stream-json', '--verbose'])
    expect(stdout).toContain('got [REDACTED]')
    expect(stdout).not.toContain(secret)
  })
})

test('streams replies of a chat completions server with @ai-sdk/openai-compatible', async () => {
  const chunks = [
    { id: 'c', model: 'x', choices: [{ index: 0, delta: { role: 'assistant', content: 'Four.' } }] },
    { id: 'c', model: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { id: 'c', model: 'x', choices: [], usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 } },
  ]
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/event-stream')
    response.end(
      [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''),
    )
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const options = {
    name: 'ours',
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    includeUsage: true,
  }
  const { home, cwd } = person({ aiSdk: { packages: { '@ai-sdk/openai-compatible': { options } } } })
  const { stdout } = await run(['-p', 'hi', '--model', 'ai-sdk:@ai-sdk/openai-compatible/org/x'], {
    cwd,
    env: { HOME: home },
  })
  expect(stdout).toBe('Four.\n')
})

test("ends the run at once without a key, with the provider's message", async () => {
  const { home, cwd } = person({})
  const { status, stderr } = await run(['-p', 'hi', '--model', 'ai-sdk:@ai-sdk/anthropic/claude-x'], {
    cwd,
    env: { HOME: home },
  })
  expect(status).toBe(1)
  expect(stderr).toContain("Pass it using the 'apiKey' parameter or the ANTHROPIC_API_KEY environment variable")
  expect(stderr).not.toContain('retry')
})

test('lists aliases for a host, and switches to one in a session', async () => {
  const { home, cwd, own } = person({ aiSdk: { models: { mine: { package: 'tiny', model: 'm' } } } })
  installPackage(own, 'tiny', { source: tinyProvider })
  const one = await host([], { cwd, env: { HOME: home } })
  const { response } = await one.ask('initialize')
  expect(response?.['models']).toContainEqual({ value: 'mine', displayName: 'mine', description: 'ai-sdk:tiny/m' })
  expect(await one.ask('set_model', { model: 'ai-sdk:nowhere/m' })).toMatchObject({
    subtype: 'error',
    error: expect.stringContaining('npm install -g nowhere') as string,
  })
  expect(await one.ask('set_model', { model: 'mine' })).toMatchObject({ subtype: 'success' })
  expect(JSON.parse(String((await one.say('hi'))['result']))).toMatchObject({ modelId: 'm' })
  expect(await one.ask('set_model', { model: 'ai-sdk:tiny/other' })).toMatchObject({ subtype: 'success' })
  expect(JSON.parse(String((await one.say('again'))['result']))).toMatchObject({ modelId: 'other' })
  await one.end()
})

test('lists aliases for an editor, and uses one', async () => {
  const { home, cwd, own } = person({ aiSdk: { models: { mine: { package: 'tiny', model: 'm' } } } })
  installPackage(own, 'tiny', { source: tinyProvider })
  const { agent, wire } = await talk([], { env: { HOME: home, ANTHROPIC_API_KEY: 'k' } })
  const { sessionId, configOptions } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  expect(JSON.stringify(configOptions?.find(({ id }) => id === 'model'))).toContain('"value":"mine"')
  await agent.request(methods.agent.session.setConfigOption, { sessionId, configId: 'model', value: 'mine' })
  const prompt = [{ type: 'text' as const, text: 'hi' }]
  expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt })).toMatchObject({
    stopReason: 'end_turn',
  })
  expect(JSON.stringify(wire)).toContain('modelId')
})
