// Holds rules of docs/spec: R-SETUP-7, R-SETUP-7a. What `halting doctor` says of a model: its price is that of runs and of `halting setup`, and a run cannot begin where the service lacks the model.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { doctor } from '../src/doctor/doctor.ts'
import type { Flags } from '../src/flags/flags.ts'
import { isListed } from '../src/setup/listed-models.ts'
import { priceOfModel } from '../src/setup/model-prices.ts'
import { setup } from '../src/setup/setup.ts'
import { programInMemory } from './support/program-in-memory.ts'

/** A local service with these models, and a user with nothing else. */
async function person(...models: readonly string[]) {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ object: 'list', data: models.map((id) => ({ id })) }))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(join(tmpdir(), 'halting-doctor-'))
  onTestFinished(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })
  const [home, cwd] = [join(folder, 'home'), join(folder, 'work')]
  for (const each of [home, cwd]) mkdirSync(each)
  const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const nobody = 'http://127.0.0.1:1'
  const env = {
    HOME: home,
    PATH: process.env['PATH'],
    OLLAMA_HOST: here,
    LLAMACPP_BASE_URL: nobody,
    VLLM_BASE_URL: nobody,
    LMSTUDIO_BASE_URL: nobody,
    OPENROUTER_API_KEY: 'a key of nobody',
  }
  const says = async (command: typeof doctor, flags: Flags) => {
    const program = programInMemory({ cwd, env })
    const status = await command(flags, program)
    return { status, text: program.written() }
  }
  return {
    home,
    doctor: (flags: Flags = {}) => says(doctor, flags),
    setup: (flags: Flags = {}) => says(setup, flags),
  }
}

test('uses the price that setup wrote for a model', async () => {
  const { doctor: looks, setup: writes } = await person('qwen3:8b')
  expect((await looks({ model: 'ollama/qwen3:8b' })).text).toContain('no known price')
  expect((await writes({ model: 'ollama/qwen3:8b', yes: true })).status).toBe(0)
  const { status, text } = await looks()
  expect([status, text]).toEqual([0, expect.stringMatching(/^ok {2}model +ollama\/qwen3:8b \(the settings\), free\n/)])
  expect(text).toMatch(/A run can start\.\n$/)
})

test('reports in doctor and setup that no run can start if the service lacks the model', async () => {
  const { home, doctor: looks, setup: writes } = await person('other:1b')
  mkdirSync(join(home, '.halting'))
  writeFileSync(join(home, '.halting/settings.json'), JSON.stringify({ model: 'ollama/qwen3' }))
  const looked = await looks()
  expect(looked.status).toBe(1)
  expect(looked.text).toMatch(/\n!! {2}service .* qwen3 is not among its 1 models\n +Choose one .*: ollama\/other:1b\n/)
  expect(looked.text).not.toContain('A run can start')
  const written = await writes()
  expect(written.text).toContain('has no model qwen3: it has ollama/other:1b.')
  expect(written.text).not.toContain('A run can start')
  expect((await writes({ model: 'ollama/other:1b', yes: true })).status).toBe(0)
  expect((await looks()).text).toMatch(/A run can start\.\n$/)
})

test('says in setup that a model has no price', async () => {
  const { setup: writes } = await person()
  const flags = { model: 'openrouter/of/nobody', yes: true }
  expect((await writes(flags)).text).toContain('Its price is not known: --max-budget-usd needs modelPrices')
})

test.each<[model: string, listed: string, isThere: boolean]>([
  ['mine', 'mine', true],
  ['mine', 'models/mine', true],
  ['qwen3', 'qwen3:latest', true],
  ['qwen3', 'qwen3:8b', false],
  ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929', true],
  ['claude-sonnet-4-0', 'claude-sonnet-4-20250514', true],
  ['claude-3-5-sonnet-latest', 'claude-3-5-sonnet-20241022', true],
  ['gpt-4o', 'gpt-4o-2024-08-06', true],
  ['gpt-4o', 'gpt-4o-mini', false],
  ['claude-sonnet-4', 'claude-sonnet-4-5-20250929', false],
  ['deepseek/deepseek-r1:free', 'deepseek/deepseek-r1', true],
])('finds %s in a list with %s: %j', (model, listed, isThere) => {
  expect(isListed(model, ['else', listed])).toBe(isThere)
})

test('uses the price of the settings with the highest priority, otherwise the known one', () => {
  const modelPrices = [
    { 'anthropic/claude-sonnet-4-5': { input: 1, output: 2 } },
    { 'claude-sonnet-4-5': { input: 9, output: 9 } },
  ]
  expect(priceOfModel('claude-sonnet-4-5', { modelPrices })).toEqual({ input: 1, output: 2 })
  expect(priceOfModel('anthropic/claude-sonnet-4-5', { modelPrices })).toEqual({ input: 1, output: 2 })
  expect(priceOfModel('claude-sonnet-4-5', {})?.input).toBeGreaterThan(0)
  // Like a run with either name.
  expect(priceOfModel('gpt-5', {})).toEqual(priceOfModel('openai/gpt-5', {}))
  expect(priceOfModel('gpt-5', {})?.input).toBeGreaterThan(0)
  expect(priceOfModel('gpt-5', { modelPrices: [{ 'openai/gpt-5': { input: 7, output: 8 } }] })).toEqual({
    input: 7,
    output: 8,
  })
  expect(priceOfModel('ollama/mine', {})).toBeUndefined()
  expect(priceOfModel('openai-compatible/gpt-5', {})).toBeUndefined()
})
