// Spec R-SETHOOK-22: a web service that attacks the hook that calls it, and what a hook sends to it.
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:tls'
import type { AddressInfo, Server } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { answerOf } from '../../src/hooks/hook-answer.ts'
import { HookProcesses } from '../../src/hooks/processes.ts'
import { runHook } from '../../src/hooks/run-hook.ts'
import { readHooks, ShellHooks } from '../../src/hooks/index.ts'

async function listening(server: Server): Promise<number> {
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
  // It listens at a port.
  return (server.address() as AddressInfo).port
}

/** A service; returns its URL, and the headers of the requests that it received. */
async function service(
  answer: RequestListener,
): Promise<{ readonly url: string; readonly seen: IncomingHttpHeaders[] }> {
  const seen: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers)
    request.resume()
    answer(request, response)
  })
  const port = await listening(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${port}/`, seen }
}

const env = { TOKEN: 'geheim', OTHER: 'anderes', LINES: 'geheim\r\nx: y' }

async function post(fields: object, signal = new AbortController().signal) {
  const [hook] = readHooks({ Stop: [{ hooks: [{ type: 'http', timeout: 5, ...fields }] }] }).hooks.Stop ?? []
  if (hook === undefined) throw new Error('it is no hook')
  return runHook({ hook, input: { a: 1 }, source: { signal } }, { cwd: '/', env, processes: new HookProcesses() })
}

test.each([301, 302, 303, 307, 308])('a redirect with %d is not followed', async (status) => {
  const other = await service((_request, response) => response.end('{"decision":"block","reason":"theirs"}'))
  const { url } = await service((_request, response) => response.writeHead(status, { location: other.url }).end())
  const ended = await post({ url, headers: { 'x-key': '$TOKEN' } })
  expect(answerOf('Stop', ended)).toEqual({ error: expect.stringMatching(`^exit code 1: HTTP ${status} of 127.*not followed`) as unknown })
  expect(other.seen).toEqual([])
}) // prettier-ignore

test.each(['file:///etc/passwd', 'data:application/json,{}', 'http://169.254.169.254/latest/meta-data/'])(
  'a redirect to %s is not followed',
  async (location) => {
    const { url } = await service((_request, response) => response.writeHead(307, { location }).end())
    expect(answerOf('Stop', await post({ url }))).toEqual({ error: expect.stringContaining('HTTP 307') as unknown })
  },
)

describe('variables in headers', () => {
  test('are expanded if the hook lists them', async () => {
    const { url, seen } = await service((_request, response) => response.end())
    await post({ url, headers: { a: '$TOKEN ${OTHER} $NONE' } })
    await post({ url, headers: { a: '$TOKEN ${OTHER}' }, allowedEnvVars: ['TOKEN'] })
    await post({ url, headers: { a: 'x$TOKEN' }, allowedEnvVars: [] })
    expect(seen.map(({ a }) => a)).toEqual(['geheim anderes', 'geheim', 'x'])
  })

  test.each([{ a: '$LINES' }, { 'a b': '$TOKEN' }, { a: '$TOKEN\u0000' }, { a: '$TOKEN €' }])(
    'are omitted from errors about invalid headers: %j',
    async (headers) => {
      const { url, seen } = await service((_request, response) => response.end())
      const { error = '' } = answerOf('Stop', await post({ url, headers }))
      expect([error, seen]).toEqual([expect.stringMatching(/^not started: the header a(?: b)? is invalid$/), []])
    },
  ) // prettier-ignore
})

describe('a failure that decides nothing, and is reported', () => {
  const words = async (fields: object): Promise<string> => answerOf('PreToolUse', await post(fields)).error ?? 'nothing'

  test('a body that never ends, fast or slow', async () => {
    const flood = await service((_request, response) => {
      const write = (): void => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', write)
      }
      write()
    })
    expect(answerOf('UserPromptSubmit', await post({ url: flood.url })).context?.length).toBe(10_000)
    const drip = await service((_request, response) => {
      const timer = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(timer))
    })
    expect(await words({ url: drip.url, timeout: 0.5 })).toBe('it timed out')
  })

  test('half a JSON, and endless JSON', async () => {
    const half = await service((_request, response) => response.end('{"decision":"bl'))
    expect(await words({ url: half.url })).toBe('its output starts like JSON but is not valid JSON')
    const deep = await service((_request, response) => response.end(`${'{"a":'.repeat(90_000)}1${'}'.repeat(90_000)}`))
    expect(await words({ url: deep.url })).toBe('its JSON output is nested too deeply')
  })

  test('a missing service, one that hangs up, and one with an invalid certificate', async () => {
    const { url } = await service((request) => request.socket.destroy())
    expect(await words({ url })).toMatch(/^not started: 127\.0\.0\.1:\d+: (?:UND_ERR_SOCKET|ECONNRESET)$/)
    const server = createTlsServer({})
    const port = await listening(server)
    onTestFinished(() => void server.close())
    expect(await words({ url: `https://127.0.0.1:${port}/` })).toMatch(/^not started: 127\.0\.0\.1:\d+: \w+$/)
  })
})

test('a service that never answers an async hook does not block the program', async () => {
  const { url } = await service(() => undefined)
  const { hooks } = readHooks({ Notification: [{ hooks: [{ type: 'http', url }, { type: 'http', url: `${url}b`, async: true }] }] })
  const common = { sessionId: 's', transcriptPath: '/t', cwd: '/', env: {}, permissionMode: () => 'default', model: 'm' }
  const shell = new ShellHooks({ ...common, hooks, source: 'startup' })
  shell.notify('permission_prompt', 'needs you')
  const begun = performance.now()
  await shell.end('other')
  expect(performance.now() - begun).toBeLessThan(20_000)
}) // prettier-ignore
