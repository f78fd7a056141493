import { Agent, fetch as undiciFetch } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { call, modelAt, recordOf } from './support/call.ts'
import { pem, startTls } from './support/tls-server.ts'

/** A client that trusts these certificates, and looks names up as it is told. */
function fetchWith(connect: NonNullable<Agent.Options['connect']>): typeof globalThis.fetch {
  const dispatcher = new Agent({ connect })
  onTestFinished(() => dispatcher.destroy())
  return (input, init) => undiciFetch(input as string, { ...(init as object), dispatcher })
}

const useless = { kind: 'connection', retryable: false, billed: 'nothing', status: null }

describe('a certificate that cannot be trusted is told with what to do, and not tried again', () => {
  test('a self-signed one', async () => {
    const url = await startTls('self-signed')
    expect(recordOf((await call(modelAt(url))).error)).toMatchObject({
      ...useless,
      message: expect.stringMatching(
        /^The certificate of localhost:\d+ is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. Behind a proxy that opens TLS, name its certificate in NODE_EXTRA_CA_CERTS\.$/,
      ),
    })
  })

  test('one for another name', async () => {
    const url = await startTls('other-name')
    const fetch = fetchWith({ ca: pem('other-name.cert') })
    expect(recordOf((await call(modelAt(url, { fetch }))).error)).toMatchObject({
      ...useless,
      message: expect.stringMatching(
        /^The certificate at localhost:\d+ is for another name .*Is the base URL right\?$/,
      ),
    })
  })

  test('one that has expired', async () => {
    const url = await startTls('expired')
    const fetch = fetchWith({ ca: pem('expired.cert') })
    expect(recordOf((await call(modelAt(url, { fetch }))).error)).toMatchObject({
      ...useless,
      message: expect.stringMatching(/^The certificate of localhost:\d+ has expired .*Check the clock/),
    })
  })
})

test('a name without an address is told, and tried again', async () => {
  const fetch = fetchWith({
    lookup: (hostname, _options, answer) => {
      const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
      answer(error, '', 4)
    },
  })
  expect(recordOf((await call(modelAt('https://api.example', { fetch }))).error)).toMatchObject({
    kind: 'connection',
    retryable: true,
    billed: 'nothing',
    message: 'No address is known for api.example (ENOTFOUND). Check the network, the DNS and the base URL.',
  })
})

test('a port that no request may go to is told, and not tried again', async () => {
  expect(recordOf((await call(modelAt('http://127.0.0.1:1'))).error)).toMatchObject({
    ...useless,
    message: 'No request may go to the port of 127.0.0.1:1. Is the base URL right?',
  })
})
