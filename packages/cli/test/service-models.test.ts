// Holds rules of docs/spec: R-TERM-90. The models that /model lists.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { reachableServices } from '@halting/models'
import { expect, onTestFinished, test } from 'vitest'
import { askServices, type ServiceQuery, type ListedModels } from '../src/terminal/app/service-models.ts'
import { chooseModel } from '../src/terminal/commands/setting-commands.ts'
import { pickList } from '../src/terminal/pickers/pick-list.ts'
import { styleFor } from '../src/io/style.ts'

/** A service with this answer; without an answer it hangs. */
async function service(
  status?: number,
  body: unknown = {},
): Promise<{ readonly url: string; readonly keys: unknown[] }> {
  const keys: unknown[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers['x-api-key'] ?? request.headers.authorization)
    if (status === undefined) return
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys }
}

const list = (...ids: readonly string[]) => ({ data: ids.map((id) => ({ id })) })
const nobody = 'http://127.0.0.1:1'

test('asks all services with a key or an address at once, and says within the time limit why one has no list', async () => {
  const claude = await service(200, list('claude-x', 'other'))
  const chat = await service(200, list('models/mine', 'my-embed', 'b\u001B[2Jad', 'mine'))
  const refusing = await service(401)
  const hanging = await service()
  const env = {
    ANTHROPIC_API_KEY: 'key-a',
    ANTHROPIC_BASE_URL: claude.url,
    OPENAI_API_KEY: 'key-o',
    OPENAI_BASE_URL: `${chat.url}/v1`,
    OLLAMA_HOST: hanging.url,
    VLLM_BASE_URL: refusing.url,
    LMSTUDIO_BASE_URL: nobody,
    LLAMACPP_BASE_URL: 'no address',
  }
  const begun = performance.now()
  const answers = await Promise.all(
    askServices({ env, settings: {} }, 300).map(async ({ service: name, answer }) => [name, await answer] as const),
  )
  expect(performance.now() - begun).toBeLessThan(5_000)
  expect(Object.fromEntries(answers)).toEqual({
    anthropic: { kind: 'models', names: ['claude-x', 'anthropic/other'], left: 0 },
    'openai-compatible': { kind: 'models', names: ['openai-compatible/mine'], left: 2 },
    ollama: { kind: 'none', why: 'it did not answer within 0.3 s' },
    vllm: { kind: 'none', why: 'rejects the key (401)' },
    lmstudio: { kind: 'none', why: expect.stringContaining('ECONNREFUSED') as string },
    llamacpp: { kind: 'none', why: expect.any(String) as string },
  })
  expect([claude.keys, chat.keys, hanging.keys]).toEqual([['key-a'], ['Bearer key-o'], [undefined]])
})

test('names models of OpenAI at another address correctly, and hides those without chat completions', async () => {
  const { url } = await service(200, list('mine', 'gpt-5.2', 'gpt-5-pro', 'gpt-5.2-codex', 'deepseek-v4-pro'))
  const env = { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: `${url}/v1` }
  const named = async (settings: Parameters<typeof askServices>[0]['settings'], more = {}) => {
    const asked = askServices({ env: { ...env, ...more }, settings }, 3_000)
    return asked.find(({ service: name }) => name === 'openai-compatible')?.answer
  }
  const ours = ['openai-compatible/mine', 'openai/gpt-5.2']
  const others = ['openai-compatible/deepseek-v4-pro']
  const [all, chat] = [await named({}), await named({ openaiApi: 'chat_completions' })]
  expect(all).toEqual({
    kind: 'models',
    names: [...ours, 'openai/gpt-5-pro', 'openai/gpt-5.2-codex', ...others],
    left: 0,
  })
  expect(chat).toEqual({ kind: 'models', names: [...ours, ...others], left: 2 })
  expect(await named({}, { HALTING_OPENAI_API: 'chat_completions' })).toEqual(chat)
  expect(await named({}, { OPENAI_API_KEY: '' })).toEqual({
    kind: 'models',
    names: ['openai-compatible/mine', 'openai-compatible/gpt-5.2', ...others],
    left: 2,
  })
})

test('does not show a name that is the key', async () => {
  const { url } = await service(200, list('one', 'key-of-a-person-1234567890', 'two\nlines', 'three'))
  const env = { OPENAI_API_KEY: 'key-of-a-person-1234567890', OPENAI_BASE_URL: `${url}/v1` }
  const asked = askServices({ env, settings: {} }, 3_000).find(({ service: name }) => name === 'openai-compatible')
  expect(await asked?.answer).toEqual({
    kind: 'models',
    names: ['openai-compatible/one', 'openai-compatible/three'],
    left: 2,
  })
})

test('asks no service without a key, and each address once', () => {
  const local = { OLLAMA_HOST: nobody, LLAMACPP_BASE_URL: nobody, VLLM_BASE_URL: nobody, LMSTUDIO_BASE_URL: nobody }
  const prefixes = (env: Readonly<Record<string, string>>) => reachableServices(env).map(({ prefix }) => prefix)
  const here = ['ollama', 'llamacpp', 'vllm', 'lmstudio']
  expect(prefixes(local)).toEqual(here)
  expect(prefixes({ ...local, OPENAI_API_KEY: 'k', GROQ_API_KEY: 'k' })).toEqual(['openai', ...here, 'groq'])
  expect(prefixes({ ...local, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: nobody })).toEqual(['openai-compatible', ...here])
  expect(prefixes({ ...local, ANTHROPIC_AUTH_TOKEN: 'k' })).toEqual(['anthropic', ...here])
  expect(reachableServices({}).every(({ isSetUp }) => !isSetUp)).toBe(true)
  // A local service at a configured address is asked there.
  expect(reachableServices({ OLLAMA_HOST: 'http://models.example' })[0]).toEqual({ prefix: 'ollama', isSetUp: true })
})

test('shows the list at once, appends models as services answer, and keeps the selected row', async () => {
  const answers = new Map<string, (listed: ListedModels) => void>()
  const asked = ['groq', 'openai', 'ollama'].map((name): ServiceQuery => ({
    service: name,
    answer: new Promise((resolve) => answers.set(name, resolve)),
  }))
  const style = styleFor(false, {})
  let shown: ReturnType<typeof pickList<string>> | undefined
  const app: Parameters<typeof chooseModel>[0] = {
    changed: () => {},
    ask: (given) =>
      new Promise((done) => {
        const options = { ...given, style, isKey: (action: string) => action === 'send', changed: () => {}, done }
        // True: the list of models consists of texts.
        shown = pickList(options) as typeof shown
      }),
  }
  const chosen = chooseModel(app, { models: ['claude-x', 'gpt-y'], model: 'gpt-y' }, asked)
  const lines = () => shown?.render(80) ?? []
  expect(lines()).toEqual([
    'Model',
    '  claude-x',
    '› gpt-y  now',
    '  loading the models of groq, openai, ollama …',
    expect.any(String),
  ])
  const answer = async (name: string, listed: ListedModels) => {
    answers.get(name)?.(listed)
    await Promise.resolve()
  }
  await answer('openai', { kind: 'models', names: ['gpt-y', 'openai/z'], left: 0 })
  await answer('groq', { kind: 'none', why: 'rejects the key (401)' })
  expect(lines().slice(0, -1)).toEqual([
    'Model',
    '  claude-x',
    '› gpt-y  now',
    '  openai/z  openai',
    '  groq: rejects the key (401)',
    '  loading the models of ollama …',
  ])
  await answer('ollama', { kind: 'absent' })
  expect(lines().at(-2)).toBe('  groq: rejects the key (401)')
  shown?.handleInput?.('\r')
  expect(await chosen).toBe('gpt-y')
})

test('lists models from settings without a request (R-PROV-27)', async () => {
  const alias = { package: '@ai-sdk/xai', model: 'grok', folders: [], from: 'settings.json' }
  const aiSdk = { models: { mine: alias }, packages: {}, folders: [] }
  const [first] = askServices({ env: {}, settings: { aiSdk } }, 300)
  expect([first?.service, await first?.answer]).toEqual(['aiSdk', { kind: 'models', names: ['mine'], left: 0 }])
})
