import dns from 'node:dns'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { call, modelAt, recordOf } from './support/call.ts'
import { pem, startTls, trust } from './support/tls-server.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const useless = { kind: 'connection', retryable: false, billed: 'nothing', status: null }

describe('explains an untrusted certificate, without a retry', () => {
  test('that is self-signed', async () => {
    const url = await startTls('self-signed')
    expect(recordOf((await call(modelAt(url))).error)).toMatchObject({
      ...useless,
      message: expect.stringMatching(
        /^The certificate of localhost:\d+ is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. Behind a proxy that decrypts TLS, set NODE_EXTRA_CA_CERTS to its certificate\.$/,
      ),
    })
  })

  test('for another name', async () => {
    const url = await startTls('other-name')
    trust(pem('other-name.cert'))
    expect(recordOf((await call(modelAt(url))).error)).toMatchObject({
      ...useless,
      message: expect.stringMatching(
        /^The certificate at localhost:\d+ is for another name .*Is the base URL right\?$/,
      ),
    })
  })

  test('that has expired', async () => {
    const url = await startTls('expired')
    trust(pem('expired.cert'))
    expect(recordOf((await call(modelAt(url))).error)).toMatchObject({
      ...useless,
      message: expect.stringMatching(/^The certificate of localhost:\d+ has expired .*Check the clock/),
    })
  })
})

test('reports a name without an address, and retries', async () => {
  vi.spyOn(dns, 'lookup').mockImplementation(((hostname: string, _options: unknown, answer: (error: Error) => void) => {
    answer(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' }))
  }) as typeof dns.lookup)
  expect(recordOf((await call(modelAt('https://api.example'))).error)).toMatchObject({
    kind: 'connection',
    retryable: true,
    billed: 'nothing',
    message: 'No address is known for api.example (ENOTFOUND). Check the network, the DNS and the base URL.',
  })
})

test("reports a port that the program's `fetch` blocks, without a retry", async () => {
  const model = modelAt('http://127.0.0.1:1', { fetch: globalThis.fetch })
  expect(recordOf((await call(model)).error)).toMatchObject({
    ...useless,
    message: 'The port of 127.0.0.1:1 is blocked for HTTP requests. Is the base URL right?',
  })
})

test('allows any port otherwise', async () => {
  expect(recordOf((await call(modelAt('http://127.0.0.1:1'))).error)).toMatchObject({
    retryable: true,
    message: 'Nothing listens at http://127.0.0.1:1 (ECONNREFUSED). Is the service running, and is the base URL right?',
  })
})
