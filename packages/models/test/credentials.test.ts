import { execFileSync } from 'node:child_process'
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RunAbort } from '@halting/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { commandCredentials } from '../src/index.ts'
import type { Credential, CredentialSource } from '../src/index.ts'
import { createSharedSource } from '../src/service/shared-source.ts'
import { call, modelAt, recordOf } from './support/call.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { bytesOf, recordings } from './support/recordings.ts'

/** A service that accepts some keys and answers 401 to all others. It remembers the keys that it received. */
async function startGuarded(takes: (key: string) => boolean) {
  const seen: string[] = []
  const server = await startRawServer((response, request) => {
    const key = String(request.headers['x-api-key'] ?? request.headers.authorization)
    seen.push(key)
    if (takes(key)) {
      beginStream(response)
      response.end(bytesOf(recordings[0]!.events))
    } else {
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end('{"type":"error","error":{"type":"authentication_error","message":"expired"}}')
    }
  })
  return { seen, url: server.url }
}

function modelWith(url: string, credentials: CredentialSource) {
  return modelAt(url, { apiKey: undefined, credentials })
}

const refusedAgain = { kind: 'authentication_failed', status: 401, retryable: false, billed: 'nothing' }
const worthARetry = { ...refusedAgain, retryable: true }

describe('a 401 refreshes the credentials once', () => {
  test('and uses the new credentials in the next attempt', async () => {
    const { seen, url } = await startGuarded((key) => key === 'new')
    const asked: (Credential | null)[] = []
    const model = modelWith(url, ({ refused }) => {
      asked.push(refused)
      return { apiKey: refused === null ? 'old' : 'new' }
    })
    expect(recordOf((await call(model)).error)).toMatchObject(worthARetry)
    expect((await call(model)).reply).toBeDefined()
    expect((await call(model)).reply).toBeDefined()
    expect(seen).toEqual(['old', 'new', 'new'])
    expect(asked).toEqual([null, { apiKey: 'old' }, null])
  })

  test('and not again if the service rejects the refreshed credentials at once', async () => {
    const { seen, url } = await startGuarded(() => false)
    let refreshes = 0
    const model = modelWith(url, ({ refused }) => {
      if (refused !== null) refreshes++
      return { apiKey: `key ${refreshes}` }
    })
    expect(recordOf((await call(model)).error)).toMatchObject(worthARetry)
    expect(recordOf((await call(model)).error)).toMatchObject(refusedAgain)
    expect([seen, refreshes]).toEqual([['key 0', 'key 1'], 1])
  })

  test('and again when accepted credentials expire', async () => {
    let valid = 'key 0'
    const { seen, url } = await startGuarded((key) => key === valid)
    let count = 0
    const model = modelWith(url, ({ refused }) => ({ apiKey: `key ${refused === null ? count : ++count}` }))
    expect((await call(model)).reply).toBeDefined()
    valid = 'key 1'
    expect(recordOf((await call(model)).error)).toMatchObject(worthARetry)
    expect((await call(model)).reply).toBeDefined()
    valid = 'key 2'
    expect(recordOf((await call(model)).error)).toMatchObject(worthARetry)
    expect((await call(model)).reply).toBeDefined()
    expect(seen).toEqual(['key 0', 'key 0', 'key 1', 'key 1', 'key 2'])
  })

  test('and only once for all requests that were rejected together', async () => {
    const { url } = await startGuarded((key) => key === 'new')
    let refreshes = 0
    const model = modelWith(url, async ({ refused }) => {
      if (refused === null) return { apiKey: 'old' }
      refreshes++
      await new Promise((resolve) => void setImmediate(resolve))
      return { apiKey: 'new' }
    })
    const first = await Promise.all([call(model), call(model), call(model)])
    expect(first.map(({ error }) => recordOf(error).retryable)).toEqual([true, true, true])
    expect(refreshes).toBe(1)
    const second = await Promise.all([call(model), call(model), call(model)])
    expect(second.every(({ reply }) => reply !== undefined)).toBe(true)
  })

  test('and an aborted request does not abort the others', async () => {
    let give = (_: Credential): void => {}
    const over: boolean[] = []
    const ask = createSharedSource(({ signal }) => {
      signal.addEventListener('abort', () => over.push(true))
      return new Promise((resolve) => (give = resolve))
    }, Infinity)
    const controller = new AbortController()
    const reason = new RunAbort('user')
    const first = ask(null, controller.signal)
    const second = ask(null, new AbortController().signal)
    controller.abort(reason)
    await expect(first).rejects.toBe(reason)
    expect(over).toEqual([])
    give({ apiKey: 'new' })
    expect(await second).toEqual({ apiKey: 'new' })
    // The last caller that gives up ends the shared work.
    const last = new AbortController()
    const third = ask(null, last.signal)
    over.length = 0
    last.abort(reason)
    await expect(third).rejects.toBe(reason)
    expect(over).toEqual([true])
  })

  test('and a source that never responds blocks nobody', async () => {
    const { url } = await startGuarded(() => true)
    const never = (): Promise<Credential> => new Promise(() => {})
    const late = await call(modelAt(url, { apiKey: undefined, credentials: never, requestTimeoutMs: 50 }))
    expect(recordOf(late.error)).toMatchObject({
      kind: 'authentication_failed',
      billed: 'nothing',
      message: 'Could not get an API key: the command did not return one within 0.05 s.',
    })
    const controller = new AbortController()
    const reason = new RunAbort('user')
    const asked = call(modelWith(url, never), { signal: controller.signal })
    controller.abort(reason)
    expect((await asked).error).toBe(reason)
  })

  test('and again for refreshed credentials if another request was accepted in between', async () => {
    let answer = 401
    const server = await startRawServer((response) => {
      if (answer !== 200) return void response.writeHead(answer).end('{}')
      beginStream(response)
      response.end(bytesOf(recordings[0]!.events))
    })
    let count = 0
    const model = modelWith(server.url, ({ refused }) => ({ apiKey: `key ${refused === null ? count : ++count}` }))
    expect(recordOf((await call(model)).error)).toMatchObject(worthARetry)
    answer = 500
    expect(recordOf((await call(model)).error).kind).toBe('server_error')
    answer = 401
    expect(recordOf((await call(model)).error)).toMatchObject(worthARetry)
    answer = 200
    expect((await call(model)).reply).toBeDefined()
    expect(count).toBe(2)
  })

  test('but not if the source returns the same credentials', async () => {
    const { url } = await startGuarded(() => false)
    const model = modelWith(url, () => ({ authToken: 'same' }))
    expect(recordOf((await call(model)).error)).toMatchObject(refusedAgain)
  })

  test('but never for a fixed key, which is wrong', async () => {
    const { url } = await startGuarded(() => false)
    expect(recordOf((await call(modelAt(url, { apiKey: 'fixed' }))).error)).toMatchObject({
      ...refusedAgain,
      message:
        '401 authentication_error: expired (the key comes from ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or apiKeyHelper)',
    })
  })

  test('reports a failed source, and calls it again for the next attempt', async () => {
    const { url } = await startGuarded((key) => key === 'Bearer new')
    let isDown = true
    const model = modelWith(url, ({ refused }) => {
      if (refused === null) return { authToken: 'old' }
      if (isDown) throw new Error('the login service is down')
      return { authToken: 'new' }
    })
    expect(recordOf((await call(model)).error)).toMatchObject({
      kind: 'authentication_failed',
      retryable: false,
      billed: 'nothing',
      message: 'Could not get an API key: the login service is down',
    })
    isDown = false
    expect(recordOf((await call(model)).error)).toMatchObject(worthARetry)
    expect((await call(model)).reply).toBeDefined()
  })

  test('reports an invalid credential without its value', async () => {
    const { url } = await startGuarded(() => true)
    const { error } = await call(modelWith(url, () => ({ apiKey: '“secret”' })))
    expect(recordOf(error).message).toMatch(/^Could not get an API key: A character in the API key cannot be sent/)
    expect(recordOf(error).message).not.toContain('secret')
  })
})

describe('apiKeyHelper', () => {
  const folder = (): string => {
    const path = mkdtempSync(join(tmpdir(), 'halting-key-'))
    onTestFinished(() => rmSync(path, { recursive: true }))
    return path
  }
  const ask = (source: CredentialSource, refused: Credential | null = null, signal = new AbortController().signal) =>
    Promise.resolve(source({ refused, signal }))

  test('prints the key, which is cached until it is too old or rejected', async () => {
    const runs = join(folder(), 'runs')
    writeFileSync(runs, '')
    const command = `printf x >> '${runs}'; printf 'key%s\\n' "$(wc -c < '${runs}' | tr -d ' ')"`
    let now = 0
    const source = commandCredentials(command, { ttlMs: 1000, now: () => now })
    const key = (n: number): Credential => ({ apiKey: `key${n}`, authToken: `key${n}` })
    expect(await ask(source)).toEqual(key(1))
    now = 999
    expect(await ask(source)).toEqual(key(1))
    now = 1000
    expect(await ask(source)).toEqual(key(2))
    expect(await ask(source, key(2))).toEqual(key(3))
    // Another request was rejected with the older key, and there is a newer one already.
    expect(await ask(source, key(2))).toEqual(key(3))
    expect(readFileSync(runs, 'utf8')).toBe('xxx')
  })

  test('runs once more after a 401', async () => {
    const runs = join(folder(), 'runs')
    writeFileSync(runs, '')
    const { seen, url } = await startGuarded((key) => key === 'key2')
    const command = `printf x >> '${runs}'; printf 'key%s' "$(wc -c < '${runs}' | tr -d ' ')"`
    const model = modelWith(url, commandCredentials(command))
    expect(recordOf((await call(model)).error)).toMatchObject(worthARetry)
    expect((await call(model)).reply).toBeDefined()
    expect(seen).toEqual(['key1', 'key2'])
  })

  test('runs once for concurrent requests, and is not waited for longer than it runs', async () => {
    const runs = join(folder(), 'runs')
    writeFileSync(runs, '')
    const { seen, url } = await startGuarded((key) => key === 'key')
    // Its background process keeps its output open.
    const model = modelWith(url, commandCredentials(`printf x >> '${runs}'; printf key; sleep 1000 &`))
    const replies = await Promise.all(Array.from({ length: 5 }, () => call(model)))
    expect(replies.every(({ reply }) => reply !== undefined)).toBe(true)
    expect([seen.length, readFileSync(runs, 'utf8')]).toEqual([5, 'x'])
  })

  test.each([
    ['printf secret; echo no token >&2; exit 3', 'apiKeyHelper failed with exit code 3: no token'],
    ['true', 'apiKeyHelper printed no key'],
    ['kill -9 $$', 'apiKeyHelper failed with SIGKILL'],
  ])('fails with %s: %s', async (command, message) => {
    await expect(ask(commandCredentials(command))).rejects.toThrow(message)
  })

  test('is killed with its child processes when it hangs', async () => {
    // Its reader ends when the last writer is gone.
    const pipe = join(folder(), 'pipe')
    execFileSync('sh', ['-c', `mkfifo '${pipe}'`])
    const isOver = new Promise<void>(
      (resolve) =>
        void createReadStream(pipe)
          .on('end', () => resolve())
          .resume(),
    )
    const command = `sleep 1000 > '${pipe}' & wait`
    await expect(ask(commandCredentials(command, { timeoutMs: 1000 }))).rejects.toThrow(
      'apiKeyHelper took longer than 1 s',
    )
    await isOver
  })

  test('is not waited for after an abort', async () => {
    const controller = new AbortController()
    const reason = new RunAbort('user')
    const asked = ask(commandCredentials('sleep 1000'), null, controller.signal)
    controller.abort(reason)
    await expect(asked).rejects.toBe(reason)
  })
})
