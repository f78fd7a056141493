// Holds rules of docs/spec: R-SETUP-1, R-SETUP-2, R-SETUP-3, R-SETUP-3a, R-SETUP-4, R-SETUP-5, R-SETUP-5a, R-SETUP-6, R-SETUP-6a: what `halting setup` finds, shows and writes, with the real program against servers on this machine.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Ended, here, installProgram, run } from './support/program.ts'

installProgram()

let [home, project] = ['', '']
beforeEach(() => {
  const root = realpathSync(mkdtempSync(join(here(), 'setup-')))
  ;[home, project] = [join(root, 'home'), join(root, 'project')]
  for (const folder of [home, project]) mkdirSync(folder)
})

const settingsPath = (): string => join(home, '.halting/settings.json')
const settings = (): string => readFileSync(settingsPath(), 'utf8')

function lay(path: string, content: unknown): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** Ports at which nothing listens, since the machine may run model servers. */
const nobody = { OLLAMA_HOST: 'http://127.0.0.1:1', LLAMACPP_BASE_URL: 'http://127.0.0.1:1', VLLM_BASE_URL: 'http://127.0.0.1:1', LMSTUDIO_BASE_URL: 'http://127.0.0.1:1' } // prettier-ignore

type Env = Readonly<Record<string, string>>
const setup = (args: readonly string[] = [], env: Env = {}): Promise<Ended> =>
  run(['setup', ...args], { cwd: project, env: { HOME: home, ...nobody, ...env } })

interface SetupOutput {
  readonly keys: readonly { readonly variable: string; readonly service: string; readonly from: string }[]
  readonly local: readonly { readonly service: string; readonly state: string; readonly models: readonly { readonly name: string }[]; readonly says: string | null }[]
  readonly agents: readonly { readonly agent: string; readonly path: string; readonly model: string | null; readonly says: readonly string[] }[]
  readonly choices: readonly { readonly model: string; readonly because: string }[]
  readonly chosen: string | null
  readonly diff: string | null
  readonly written: boolean
  readonly canBegin: boolean
  readonly says: string
} // prettier-ignore

async function runSetup(args: readonly string[] = [], env: Env = {}): Promise<SetupOutput & Pick<Ended, 'status'>> {
  const { stdout, stderr, status } = await setup([...args, '--json'], env)
  expect(stderr).toBe('')
  // True: it is the one line that --json prints.
  return { ...(JSON.parse(stdout) as SetupOutput), status }
}

/** A local server; returns its address, and counts requests. */
async function serve(listener: RequestListener): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${JSON.stringify(request.headers)}`)
    listener(request, response)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // True: a server on a port has an address of this type.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

const models = (...entries: readonly object[]): RequestListener => {
  return (_request, response) => void response.end(JSON.stringify({ data: entries }))
}

describe('keys', () => {
  test('are listed only by the names of their variables, wherever they are set', async () => {
    lay(settingsPath(), { env: { GROQ_API_KEY: 'geheim-aus-der-datei-1234' } })
    const env = { OPENAI_API_KEY: 'sk-geheimgeheimgeheimgeheim', GOOGLE_API_KEY: 'AIzageheimgeheimgeheim' }
    const { keys, choices } = await runSetup([], env)
    expect(keys).toEqual([
      { variable: 'OPENAI_API_KEY', service: 'openai', from: 'environment', unused: null },
      { variable: 'GROQ_API_KEY', service: 'groq', from: 'settings', unused: null },
      { variable: 'GOOGLE_API_KEY', service: 'google', from: 'environment', unused: 'not read; use GEMINI_API_KEY' },
    ])
    expect(choices.map(({ model }) => model)).toEqual(['gpt-6.1-sol', 'groq/openai/gpt-oss-120b'])
    for (const { stdout, stderr } of [await setup([], env), await setup(['--json'], env), await setup(['--yes'], env)])
      expect(stdout + stderr).not.toMatch(/geheim/)
  })

  test('write nothing if the current model has one', async () => {
    const { status, stdout } = await setup(['--yes'], { ANTHROPIC_API_KEY: 'k' })
    expect([status, existsSync(settingsPath())]).toEqual([0, false])
    expect(stdout).toContain('A run can start with claude-sonnet-5-5. Nothing needs to be written.')
  })

  test('are missing: without a local model either, says what to do', async () => {
    const { status, stdout } = await setup()
    expect([status, existsSync(settingsPath())]).toEqual([1, false])
    expect(stdout).toContain('No usable model was found. Set ANTHROPIC_API_KEY')
  })
})

describe('models on this machine', () => {
  test('asks all four services without a key, and writes the chosen one with the price 0', async () => {
    const ollama = await serve(models({ id: 'qwen3:8b' }, { id: 'nomic-embed-text' }))
    const vllm = await serve(models({ id: 'Qwen/Qwen3-8B', max_model_len: 32_768 }))
    const lmstudio = await serve(models({ id: 'a' }, { id: 'b' }))
    const llamacpp = await serve((_request, response) => void response.writeHead(401).end())
    const env = {
      OLLAMA_HOST: ollama.url,
      VLLM_BASE_URL: `${vllm.url}/v1`,
      LMSTUDIO_BASE_URL: `${lmstudio.url}/v1`,
      LLAMACPP_BASE_URL: `${llamacpp.url}/v1`,
      VLLM_API_KEY: 'geheim',
    }
    const found = await runSetup(['--yes'], env)
    expect(found.local.map(({ service, state, models: list }) => [service, state, list.map(({ name }) => name)])).toEqual([
      ['ollama', 'answers', ['qwen3:8b']],
      ['llamacpp', 'wants_key', []],
      ['vllm', 'answers', ['Qwen/Qwen3-8B']],
      ['lmstudio', 'answers', ['a', 'b']],
    ]) // prettier-ignore
    expect(found.choices.map(({ model }) => model)).toEqual(['ollama/qwen3:8b', 'vllm/Qwen/Qwen3-8B', 'lmstudio/a', 'lmstudio/b']) // prettier-ignore
    expect(found.choices[1]?.because).toBe('vLLM on this machine, a window of 32,768 tokens')
    expect([found.status, found.written, found.canBegin, found.chosen]).toEqual([0, true, true, 'ollama/qwen3:8b'])
    expect(JSON.parse(settings())).toEqual({
      model: 'ollama/qwen3:8b',
      modelPrices: { 'ollama/qwen3:8b': { input: 0, output: 0 } },
    })
    for (const { asked } of [ollama, vllm, lmstudio, llamacpp]) {
      expect(asked).toHaveLength(1)
      expect(asked[0]).toMatch(/^\/v1\/models /)
      expect(asked[0]).not.toMatch(/authorization|geheim/i)
    }
  })

  test('is used by a run after it was written', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/v1/models') return void response.end(JSON.stringify({ data: [{ id: 'tiny' }] }))
      response.setHeader('content-type', 'text/event-stream')
      const chunk = { choices: [{ index: 0, delta: { content: 'Hello.' }, finish_reason: 'stop' }] }
      response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
    })
    const env = { LMSTUDIO_BASE_URL: `${server.url}/v1` }
    expect((await setup(['--yes'], env)).status).toBe(0)
    const ended = await run(['-p', 'hi', '--max-budget-usd', '0.01'], { cwd: project, env: { HOME: home, ...nobody, ...env } }) // prettier-ignore
    expect(ended).toMatchObject({ status: 0, stdout: 'Hello.\n' })
  })

  const hostile: readonly (readonly [string, RequestListener, string | RegExp])[] = [
    ['says nothing', () => undefined, /^no answer within \d+ ms$/],
    [
      'drips and never ends',
      (_request, response) => {
        response.writeHead(200)
        const drip = setInterval(() => response.write(' '), 50)
        response.once('close', () => clearInterval(drip))
      },
      /^no answer within \d+ ms$/,
    ],
    ['is huge', (_request, response) => void response.end(`{"data":[${'"x",'.repeat(600_000)}""]}`), /larger than 1 MB/],
    ['is no JSON', (_request, response) => void response.end('<html>'), /no list of models/],
    ['is nested deeply', (_request, response) => void response.end('['.repeat(500_000)), /no list of models/],
    ['leads elsewhere', (_request, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), /status 302/],
    ['breaks off', (_request, response) => void response.writeHead(200, { 'content-length': '99' }).write('{', () => response.destroy()), /closed the connection/],
    ['is no HTTP', (request) => void request.socket.end('SSH-2.0-x\r\n'), /does not speak HTTP/],
  ] // prettier-ignore
  test.each(hostile)('lists a server that %s, and selects none of its models', async (_what, listener, says) => {
    const server = await serve(listener)
    const found = await runSetup(['--yes'], { VLLM_BASE_URL: `${server.url}/v1` })
    const vllm = found.local.find(({ service }) => service === 'vllm')
    expect(vllm).toMatchObject({ state: 'unfit', says: expect.stringMatching(says) })
    expect([found.choices, found.written, found.status, server.asked.length]).toEqual([[], false, 1, 1])
  })

  test('drops invalid names: none reaches the terminal or the settings', async () => {
    const bad = ['\u001b]0;x\u0007', '-'.repeat(201), 'a b', '', 'x"},"hooks":{', 'sk-ant-api03-geheimgeheimgeheim', 7, null]
    const server = await serve(models(...bad.map((id) => ({ id })), { id: 'good' }))
    const env = { OLLAMA_HOST: server.url }
    const { stdout } = await setup([], env)
    for (const text of ['\u001B', 'hooks', '"}']) expect(stdout).not.toContain(text)
    const { choices } = await runSetup(['--yes'], env)
    expect(choices.map(({ model }) => model)).toEqual(['ollama/good'])
    expect(settings()).not.toMatch(/hooks|geheim/)
  }) // prettier-ignore

  test('does not contact other machines', async () => {
    const { local } = await runSetup([], {
      OLLAMA_HOST: 'http://gpu.example:11434',
      VLLM_BASE_URL: 'https://localhost:8000/v1',
      LMSTUDIO_BASE_URL: 'http://ann:geheim@127.0.0.1:1/v1',
      LLAMACPP_BASE_URL: 'http://elsewhere.localhost/v1',
    })
    expect(local.map(({ state }) => state)).toEqual(['not_asked', 'not_asked', 'not_asked', 'not_asked'])
    expect(JSON.stringify(local)).not.toMatch(/geheim/)
  })

  test('does not offer a model of a server that does not answer, even if it is named', async () => {
    const { status, stderr } = await setup(['--model', 'ollama/qwen3', '--yes'])
    expect([status, stderr]).toEqual([2, expect.stringContaining('Ollama does not respond at 127.0.0.1:1')])
    expect(existsSync(settingsPath())).toBe(false)
  })
})

describe('the changes', () => {
  const key = { OPENAI_API_KEY: 'k' }

  test('are shown as a diff; without --yes nobody writes them, and with --dry-run neither', async () => {
    for (const args of [[], ['--dry-run'], ['--dry-run', '--yes']]) {
      const { status, stdout } = await setup(args, key)
      expect([status, existsSync(settingsPath())]).toEqual([1, false])
      expect(stdout).toContain('+  "model": "gpt-6.1-sol"')
      expect(stdout).toContain('Nothing was written')
    }
    expect(await runSetup([], key)).toMatchObject({ status: 1, written: false, canBegin: false, chosen: 'gpt-6.1-sol' })
  })

  test('are written to a private file, and the second setup changes nothing', async () => {
    expect((await setup(['--yes'], key)).status).toBe(0)
    expect([settings(), statSync(settingsPath()).mode & 0o777, statSync(dirname(settingsPath())).mode & 0o777]).toEqual(
      ['{\n  "model": "gpt-6.1-sol"\n}\n', 0o600, 0o700],
    )
    expect(await runSetup(['--yes'], key)).toMatchObject({ status: 0, written: false, canBegin: true, chosen: 'gpt-6.1-sol' })
  }) // prettier-ignore

  test('leave everything else unchanged, and hide possible keys', async () => {
    const before = '\uFEFF{\r\n\t"env": {"OPENAI_ORG_ID": "geheim"},\r\n\t"strange": ["geheim"],\r\n\t"model": "opus"\r\n}'
    lay(settingsPath(), before)
    const { status, stdout } = await setup(['--yes', '--model', 'gpt-5'], key)
    expect(status).toBe(0)
    expect(settings()).toBe(before.replace('opus', 'gpt-5'))
    expect(stdout).toMatch(/"OPENAI_ORG_ID": "\(set\)"/)
    expect(stdout).not.toContain('geheim')
  }) // prettier-ignore

  test('follow a link of the user, which stays a link', async () => {
    const real = lay(join(home, 'dotfiles/halting.json'), '{}')
    mkdirSync(dirname(settingsPath()))
    symlinkSync(real, settingsPath())
    expect((await setup(['--yes'], key)).status).toBe(0)
    expect(JSON.parse(readFileSync(real, 'utf8'))).toEqual({ model: 'gpt-6.1-sol' })
    expect(realpathSync(settingsPath())).toBe(real)
  })

  test.each([
    ['comments', '{\n// geheim\n}'],
    ['no object', '["geheim"]'],
    ['a key twice', '{"model": "a", "model": "b"}'],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])('leave a settings file with %s unchanged, and report it', async (_what, content) => {
    mkdirSync(dirname(settingsPath()))
    writeFileSync(settingsPath(), content)
    const { status, stdout, stderr } = await setup(['--yes'], key)
    expect([status, stderr]).toEqual([2, expect.stringContaining(settingsPath())])
    expect(stdout + stderr).not.toContain('geheim')
    expect(readFileSync(settingsPath())).toEqual(Buffer.from(content))
  })

  test('report a folder in place of the settings file', async () => {
    mkdirSync(settingsPath(), { recursive: true })
    const { status, stderr } = await setup(['--yes'], key)
    expect([status, stderr]).toEqual([2, expect.stringContaining('it is not a regular file')])
  })

  test('ignore projects', async () => {
    lay(join(project, '.halting/settings.json'), { model: 'groq/x', env: { OPENAI_API_KEY: 'k' } })
    const { keys, status } = await runSetup(['--yes'])
    expect([keys, status, existsSync(settingsPath())]).toEqual([[], 1, false])
  })

  test('are overridden by ANTHROPIC_MODEL, which is reported', async () => {
    const { stdout } = await setup(['--yes', '--model', 'gpt-5'], { ...key, ANTHROPIC_MODEL: 'claude-opus-5' })
    expect(stdout).toContain('ANTHROPIC_MODEL overrides it: unset it to use gpt-5.')
  })
})

describe('other agents', () => {
  test('offer their models if usable; their keys, rules and servers are not copied', async () => {
    lay(join(home, '.codex/config.toml'), 'model = "gpt-5.5"\napproval_policy = "never"\n[mcp_servers.docs]\ncommand = "npx"\n[mcp_servers.docs.env]\nTOKEN = "geheim"\n')
    lay(join(home, '.codex/auth.json'), { OPENAI_API_KEY: 'geheim' })
    lay(join(home, '.codex/AGENTS.md'), 'x')
    lay(join(home, '.gemini/settings.json'), '{"model": {"name": "gemini-3.8-flash"}, // c\n "mcpServers": {"a": {},},}')
    lay(join(home, '.config/opencode/opencode.json'), { model: 'anthropic/claude-opus-5', mcp: {} })
    lay(join(home, '.claude/settings.json'), { model: 'opus', permissions: { allow: ['Bash(ls)'] } })
    const { agents, choices, keys } = await runSetup([], { OPENAI_API_KEY: 'k' })
    expect(agents).toEqual([
      { agent: 'Claude Code', path: join(home, '.claude/settings.json'), model: null, says: ['read directly: model, permissions'] },
      { agent: 'Codex', path: join(home, '.codex/config.toml'), model: 'gpt-5.5', says: ['uses gpt-5.5', 'approval_policy: not imported; halting asks unless your rules allow', 'MCP servers docs: not imported; use halting mcp add'] },
      { agent: 'Codex', path: join(home, '.codex/AGENTS.md'), model: null, says: [`not read; to include it, add the line @${join(home, '.codex/AGENTS.md')} to ~/.halting/AGENTS.md`] },
      { agent: 'Gemini CLI', path: join(home, '.gemini/settings.json'), model: 'google/gemini-3.8-flash', says: ['uses google/gemini-3.8-flash', 'MCP servers a: not imported; use halting mcp add'] },
      { agent: 'opencode', path: join(home, '.config/opencode/opencode.json'), model: 'anthropic/claude-opus-5', says: ['uses anthropic/claude-opus-5'] },
    ])
    expect(choices.map(({ model }) => model)).toEqual(['gpt-5.5', 'gpt-6.1-sol'])
    expect(keys.map(({ variable }) => variable)).toEqual(['OPENAI_API_KEY'])
    expect((await setup([], { OPENAI_API_KEY: 'k' })).stdout).not.toContain('geheim')
  }) // prettier-ignore

  test('with invalid files are reported and stop nothing', async () => {
    mkdirSync(join(home, '.codex/config.toml'), { recursive: true })
    lay(join(home, '.gemini/settings.json'), '{"model": ')
    lay(join(home, '.config/opencode/opencode.jsonc'), `/*${'"\\'.repeat(200_000)}`)
    const { agents, status } = await runSetup([], { ANTHROPIC_API_KEY: 'k' })
    expect(agents.map(({ agent, says }) => [agent, ...says])).toEqual([
      ['Codex', 'is not a regular file'],
      ['Gemini CLI', 'does not contain a JSON object'],
      ['opencode', 'does not contain a JSON object'],
    ])
    expect(status).toBe(0)
  })
})

describe('the first start', () => {
  test('says in three lines what a start without a key needs, and does nothing else', async () => {
    const { status, stdout, stderr } = await run(['-p', 'hi'], { cwd: project, env: { HOME: home, XAI_API_KEY: 'geheim' } })
    expect([status, stdout, existsSync(join(home, '.halting'))]).toEqual([2, '', false])
    expect(stderr.trimEnd().split('\n')).toEqual([
      'halting: No key for claude-sonnet-5-5. Set ANTHROPIC_API_KEY. XAI_API_KEY is set: use --model xai/grok-4.7.',
      '  halting setup   find keys and local models, and write your settings',
      '  halting demo    watch a run with a scripted model (no key, no cost)',
    ])
  }) // prettier-ignore
})
