import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { here, installProgram, run } from './support/program.ts'

installProgram()

interface Seen {
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: { readonly [field: string]: unknown }
}

const messages = [
  {
    type: 'message_start',
    message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage: {} },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: { input_tokens: 1_000_000, output_tokens: 100_000 },
  },
  { type: 'message_stop' },
]

const item = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello', annotations: [] }] }
const responses = [
  {
    type: 'response.completed',
    response: {
      id: 'r',
      object: 'response',
      status: 'completed',
      model: 'm',
      output: [item],
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    },
  },
]

const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/** A service that accepts any key but one, and speaks all protocols. */
async function startService(refused = 'nothing'): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += String(piece)
    seen.push({ url: request.url, headers: request.headers, body: JSON.parse(body) as Seen['body'] })
    if (request.headers['x-api-key'] === refused) {
      response.writeHead(401, { 'content-type': 'application/json' })
      return void response.end('{"type":"error","error":{"type":"authentication_error","message":"expired"}}')
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const chat = [{ choices: [{ delta: { content: 'hello' }, finish_reason: 'stop' }], usage: none }]
    const isResponses = request.url?.endsWith('/responses') === true
    const events = isResponses ? responses : request.url?.endsWith('/chat/completions') === true ? chat : messages
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
  }
  const server: Server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

test('uses the key of apiKeyHelper, and another one when that is rejected', async () => {
  const service = await startService('key1')
  const runs = join(here(), 'runs')
  writeFileSync(runs, '')
  const helper = `printf x >> '${runs}'; printf 'key%s' "$(wc -c < '${runs}' | tr -d ' ')"`
  mkdirSync(join(here(), '.halting'), { recursive: true })
  writeFileSync(join(here(), '.halting/settings.json'), JSON.stringify({ apiKeyHelper: helper }))
  const work = join(here(), 'work')
  mkdirSync(work)
  const env = { ANTHROPIC_BASE_URL: service.url }
  const ended = await run(['-p', 'hi', '--output-format', 'stream-json', '--verbose'], { env, cwd: work })
  expect(ended).toMatchObject({ status: 0, stderr: '' })
  const lines = ended.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly [field: string]: unknown })
  expect(lines[0]).toMatchObject({ subtype: 'init', apiKeySource: 'apiKeyHelper' })
  expect(lines.find(({ subtype }) => subtype === 'api_retry')).toMatchObject({
    error_status: 401,
    error: 'authentication_failed',
  })
  expect(service.seen.map(({ headers }) => headers['x-api-key'])).toEqual(['key1', 'key2'])
  // A key in the environment has priority.
  await run(['-p', 'hi'], { env: { ...env, ANTHROPIC_API_KEY: 'own' }, cwd: work })
  expect(service.seen.at(-1)?.headers['x-api-key']).toBe('own')
  // It provides no keys for other services.
  const others = { OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'open' }
  const flags = ['--model', 'gpt-5', '--output-format', 'stream-json', '--verbose']
  const other = await run(['-p', 'hi', ...flags], { env: others, cwd: work })
  expect(other.stdout).toContain('"apiKeySource":"OPENAI_API_KEY"')
  expect(service.seen.at(-1)?.headers.authorization).toBe('Bearer open')
  writeFileSync(join(here(), '.halting/settings.json'), '{}')
})

test('accepts a price from the settings, and then a dollar budget', async () => {
  const service = await startService()
  const env = { ANTHROPIC_BASE_URL: service.url }
  const asked = ['-p', 'hi', '--model', 'anthropic/ours', '--max-budget-usd', '1']
  const refused = await run(asked, { env })
  expect(refused).toMatchObject({ status: 2, stdout: '' })
  expect(refused.stderr).toContain('There is no price for ours')
  const settings = JSON.stringify({ modelPrices: { ours: { input: 0.1, output: 2 } } })
  const { stdout, status } = await run([...asked, '--settings', settings, '--output-format', 'json'], { env })
  expect([status, (JSON.parse(stdout) as { total_cost_usd: number }).total_cost_usd]).toEqual([0, 0.3])
})

test('reports invalid settings, and runs nothing', async () => {
  const wrong = await run(['-p', 'hi', '--settings', '{"modelPrices":{"m":{"inptu":1,"output":2}}}'])
  expect(wrong).toMatchObject({ status: 2, stdout: '' })
  expect(wrong.stderr).toContain('inptu')
  expect(await run(['-p', 'hi', '--settings', 'none.json'])).toEqual({
    status: 2,
    stdout: '',
    stderr: 'halting: --settings takes an existing file or JSON, not "none.json".\n',
  })
})

describe('sends thinking settings in the form of the service', () => {
  test('the Messages API', async () => {
    const service = await startService()
    const env = { ANTHROPIC_BASE_URL: service.url }
    const flags = ['--max-thinking-tokens', '4000', '--effort', 'max', '--betas', 'one-2025-01-01', 'two-2025-01-01']
    expect(await run(['-p', 'hi', ...flags], { env })).toMatchObject({ status: 0, stdout: 'hello\n' })
    expect(service.seen[0]).toMatchObject({
      headers: { 'anthropic-beta': 'one-2025-01-01,two-2025-01-01' },
      body: { thinking: { type: 'enabled', budget_tokens: 4000 }, output_config: { effort: 'max' } },
    })
  })

  test('chat completions', async () => {
    const service = await startService()
    const env = { OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'key' }
    const cwd = mkdtempSync(join(here(), 'repository-'))
    execFileSync('git', ['init', '-q', '-b', 'trunk'], { cwd, stdio: 'pipe' })
    const asked = ['-p', 'hi', '--model', 'gpt-5', '--effort', 'low', '--settings', '{"openaiApi":"chat_completions"}']
    const ended = await run(asked, { env, cwd })
    expect(ended).toMatchObject({ status: 0, stdout: 'hello\n' })
    // Repository state does not come between the prompt and the answer (R-INSTR-6).
    expect(service.seen[0]?.body['messages']).toEqual([
      expect.objectContaining({ role: 'system' }),
      { role: 'user', content: expect.stringContaining('on trunk') as string },
      { role: 'user', content: 'hi' },
    ])
    expect(service.seen[0]).toMatchObject({
      url: '/v1/chat/completions',
      headers: { authorization: 'Bearer key' },
      body: { model: 'gpt-5', reasoning_effort: 'low' },
    })
  })

  test.each([
    ['--effort xhigh', { effort: 'xhigh', summary: 'auto' }],
    ['--effort max --thinking disabled', { effort: 'none', summary: 'auto' }],
    ['', { summary: 'auto' }],
  ])('the Responses API: %s', async (flags, reasoning) => {
    const service = await startService()
    const env = { OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'key' }
    const given = flags.split(' ').filter((flag) => flag !== '')
    const ended = await run(['-p', 'hi', '--model', 'gpt-5', ...given], { env })
    expect(ended).toMatchObject({ status: 0, stdout: 'hello\n' })
    expect(service.seen.map(({ url }) => url)).toEqual(['/v1/responses'])
    expect(service.seen[0]?.body).toMatchObject({ model: 'gpt-5', store: false, reasoning })
  })

  test('prefers the variable to the setting, and refuses a model without chat completions', async () => {
    const service = await startService()
    const env = { OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'key' }
    const asked = ['-p', 'hi', '--model', 'gpt-5', '--settings', '{"openaiApi":"chat_completions"}']
    await run(asked, { env: { ...env, HALTING_OPENAI_API: 'responses' } })
    expect(service.seen.map(({ url }) => url)).toEqual(['/v1/responses'])
    const alone = await run(
      ['-p', 'hi', '--model', 'gpt-5.2-codex', '--settings', '{"openaiApi":"chat_completions"}'],
      {
        env: { OPENAI_API_KEY: 'key' },
      },
    )
    expect(alone).toMatchObject({ status: 2, stdout: '' })
    expect(alone.stderr).toContain('gpt-5.2-codex is only served by the Responses API')
    const wrong = await run(['-p', 'hi', '--settings', '{"openaiApi":"chat"}'], { env })
    expect(wrong.stderr).toContain('openaiApi must be one of responses, chat_completions')
  })
})

test('reports the same figures in why and report if a service reports zero usage, and both say so', async () => {
  const service = await startService()
  const home = mkdtempSync(join(here(), 'home-'))
  const cwd = mkdtempSync(join(home, 'work-'))
  const env = { HOME: home, OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'key' }
  await run(['-p', 'hi', '--model', 'gpt-5'], { env, cwd })
  const [why, report] = [await run(['why'], { env, cwd }), await run(['report'], { env, cwd })]
  const spent = /1 turn, 1 request, 0 tokens, \$0\.0000 and up to \$\d+\.\d{4} more, /
  const [line] = spent.exec(why.stdout) ?? []
  expect(report.stdout).toContain(line)
  const dollars = /up to (\$\d+\.\d{4})/.exec(line ?? '')?.[1]
  const said = (text: string): string => text.replaceAll(/\s+/g, ' ')
  const notice =
    /The service reported no usage for one reply\. Its cost is unknown: up to ([\d,]+) tokens and (\$[\d.]+) more\./
  const [sentence, tokens, most] = notice.exec(said(why.stdout)) ?? []
  expect(said(report.stdout)).toContain(sentence)
  expect(most).toBe(dollars)
  // Every output names the same bound.
  expect(new Set(why.stdout.match(/\$0\.\d{4}/g))).toEqual(new Set([dollars, '$0.0000']))
  expect(why.stdout).toContain(`${tokens}, no limit`)
})

test('uses a proxy from the environment, and reports a missing one', async () => {
  const asked: unknown[] = []
  const proxy = createServer().on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push(request.url)
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const variables = { ANTHROPIC_API_KEY: 'key', HTTPS_PROXY: `http://${host}`, CLAUDE_CODE_MAX_RETRIES: '1' }
  const env = { ...variables, ANTHROPIC_BASE_URL: 'https://models.example' }
  const led = await run(['-p', 'hi'], { env })
  expect(led.stderr).toContain(`The proxy at ${host} (HTTPS_PROXY) answered 502`)
  expect(asked).toEqual(['models.example:443', 'models.example:443'])
  await new Promise<void>((resolve) => void proxy.close(() => resolve()))
  const gone = await run(['-p', 'hi'], { env })
  expect(gone.status).toBe(1)
  expect(gone.stderr).toContain(`The proxy at ${host} cannot be reached (ECONNREFUSED). Is HTTPS_PROXY right?`)
})
