// Holds rules of docs/spec: R-FOLL-2a.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { waitingFetch } from '../src/client/cluster-client.ts'

const globalDispatcher = Symbol.for('undici.globalDispatcher.1')
type Dispatching = { dispatch: (options: { readonly path: string }, handler: object) => boolean }

afterEach(() => vi.restoreAllMocks())

test('a waiting call has no timeouts, is answered like others, and ends at an abort', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/answers') response.end('answer')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    expect(await (await fetch(`${url}/answers`)).text()).toBe('answer')
    const usual = (globalThis as unknown as { readonly [globalDispatcher]: Dispatching })[globalDispatcher]
    const dispatched = vi.spyOn(usual, 'dispatch')
    expect(await (await waitingFetch(`${url}/answers`, { method: 'POST', body: 'b' })).text()).toBe('answer')
    expect(dispatched.mock.calls[0]?.[0]).toMatchObject({ path: '/answers', headersTimeout: 0, bodyTimeout: 0 })
    const call = new AbortController()
    const waits = waitingFetch(`${url}/silent`, { signal: call.signal })
    await vi.waitFor(() => expect(dispatched).toHaveBeenCalledTimes(2))
    call.abort(new Error('enough'))
    await expect(waits).rejects.toThrow('enough')
    await expect(waitingFetch('http://127.0.0.1:1/')).rejects.toThrow('fetch failed')
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
