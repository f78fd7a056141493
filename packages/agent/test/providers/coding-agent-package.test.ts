// Holds rules of docs/spec: R-PROV-1, R-PROV-5, R-PROV-10, R-PROV-11, R-PROV-29. Models behind packages in a coding agent from code, and whose account they are.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codingAgent } from '@halting/agent'
import type { SdkMessage } from '@halting/core'
import { expect, onTestFinished, test } from 'vitest'
import { checkModel, describeModels, openModels } from '../../src/open-session/models.ts'
import { noPlugins } from '../../src/open-session/plugins.ts'
import { noSettings } from '../../src/open-session/run-settings.ts'
import { installPackage, tinyProvider } from '../support/provider-packages.ts'

function place() {
  const base = mkdtempSync(join(tmpdir(), 'halting-package-agent-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const [cwd, home] = [join(base, 'project'), join(base, 'home')]
  const own = join(home, '.halting')
  for (const folder of [cwd, own]) mkdirSync(folder, { recursive: true })
  installPackage(own, 'tiny', { source: tinyProvider })
  const settings = {
    aiSdk: {
      models: {
        mine: { package: 'tiny', model: 'm', options: { region: '${TINY_REGION}' }, price: { input: 1, output: 2 } },
      },
    },
  }
  writeFileSync(join(own, 'settings.json'), JSON.stringify(settings))
  return { cwd, env: { HOME: home, PATH: process.env['PATH'], TINY_REGION: 'here' } }
}

test.each([
  ['ai-sdk:tiny/x', 'x', 0],
  ['mine', 'm', 20e-6],
])('a coding agent asks %s, with the given variables', async (model, modelId, cost) => {
  const builder = await codingAgent({ ...place(), model, persistSession: false })
  onTestFinished(async () => builder.dispose())
  const messages: SdkMessage[] = []
  const engine = await builder.engine()
  for await (const message of engine.submit('go')) messages.push(message)
  const result = messages.at(-1)
  expect(result).toMatchObject({ type: 'result', subtype: 'success' })
  if (result?.type !== 'result') return
  expect(JSON.parse(result.result ?? '')).toMatchObject({ modelId, region: 'here' })
  expect(result.total_cost_usd).toBeCloseTo(cost, 12)
  expect(Object.keys(result.modelUsage)).toEqual([model])
})

test('rejects a coding agent with a missing package', async () => {
  await expect(codingAgent({ ...place(), model: 'ai-sdk:nowhere/m' })).rejects.toMatchObject({
    code: 'configuration',
    message: expect.stringContaining('npm install -g nowhere') as string,
  })
})

test('an account is identified by package, options and the variables of clouds', async () => {
  const { cwd, env } = place()
  const accountsOf = async (more: Readonly<Record<string, string>>, model = 'ai-sdk:tiny/m') => {
    const accounts: unknown[] = []
    const run = { ...noSettings, choices: { model }, env: { ...env, ...more }, plugins: noPlugins }
    await openModels(run, { cwd, nameOf: (name) => name }, (made, account) => {
      accounts.push(account)
      return made
    })
    return accounts
  }
  const [one, same, other] = [
    await accountsOf({ AWS_ACCESS_KEY_ID: 'a' }),
    await accountsOf({ AWS_ACCESS_KEY_ID: 'a' }, 'ai-sdk:tiny/another'),
    await accountsOf({ AWS_ACCESS_KEY_ID: 'b' }),
  ]
  expect(one).toEqual([{ service: 'tiny', secret: expect.any(String) as string }])
  expect(same).toEqual(one)
  expect(other).not.toEqual(one)
})

test('describing or checking a session loads no package', async () => {
  const { cwd, env } = place()
  installPackage(join(env.HOME, '.halting'), 'loud', { source: "throw new Error('loaded')" })
  const run = { ...noSettings, choices: { model: 'ai-sdk:loud/m' }, env, plugins: noPlugins }
  const ports = { cwd, nameOf: (name: string) => name }
  checkModel(run, ports)
  expect((await describeModels(run, ports)).model).toMatchObject({ id: 'ai-sdk:loud/m', contextWindow: 128_000 })
  await expect(openModels(run, ports)).rejects.toThrow('cannot be loaded: loaded')
})
