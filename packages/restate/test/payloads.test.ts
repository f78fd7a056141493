// Holds rules of docs/spec: R-CLU-3: large data is stored by its hash, for its session.
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StepRecord } from '@halting/core/steps'
import { afterEach, describe, expect, test } from 'vitest'
import { SessionTexts } from '../src/engine/session-texts.ts'
import { ClusterLog } from '../src/engine/cluster-log.ts'
import { maxInlineBytes, decodeBatch } from '../src/engine/batch.ts'
import { filePayloads } from '../src/payloads/file-payloads.ts'
import { s3Payloads } from '../src/payloads/s3-payloads.ts'
import { checkPayloads } from './support/check-payloads.ts'
import { MemoryPayloads } from './support/memory-state.ts'

describe('files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'halting-payloads-'))
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  test('keep the promises of a store and leave no temporary file', async () => {
    expect(await checkPayloads(filePayloads({ folder: join(folder, 'a', 'b') }))).toEqual([])
    expect(readdirSync(join(folder, 'a', 'b'))).toEqual([])
  })

  test('detect a truncated or changed file, which storing it again repairs', async () => {
    const store = filePayloads({ folder }).of('session')
    const reference = await store.put('all of it')
    const path = join(folder, 'session', reference.sha256)
    for (const damaged of ['all', 'all of IT']) {
      writeFileSync(path, damaged)
      await expect(store.get(reference)).rejects.toThrow(`${path} was changed: expected 9 bytes`)
    }
    writeFileSync(path, 'all')
    await store.put('all of it')
    expect(await store.get(reference)).toBe('all of it')
    expect(readdirSync(join(folder, 'session'))).toEqual([reference.sha256])
  })

  test('name the missing file in the error', async () => {
    const store = filePayloads({ folder }).of('session')
    const reference = { type: 'payload', sha256: 'a'.repeat(64), bytes: 3 } as const
    await expect(store.get(reference)).rejects.toThrow(reference.sha256)
  })
})

describe('a bucket', () => {
  const servers: Server[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) server.close()
  })

  /** An S3 service in memory. `fault` replaces the answer to the COUNTth request: a status, or null for a closed connection. */
  async function bucketOf(fault: (count: number) => number | null | undefined) {
    const objects = new Map<string, Buffer>()
    const asked: string[] = []
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { method = '', url = '/' } = request
      const body = await bodyOf(request)
      asked.push(`${method} ${url}`)
      const wrong = fault(asked.filter((one) => one === asked.at(-1)).length)
      if (wrong === null) return void request.socket.destroy()
      const { pathname, searchParams } = new URL(url, 'http://localhost')
      const sent = request.headers['x-amz-content-sha256']
      const isSigned = request.headers.authorization?.startsWith('AWS4-HMAC-SHA256 Credential=key/') === true
      if (wrong !== undefined) response.writeHead(wrong).end('<Error><Code>SlowDown</Code></Error>')
      else if (!isSigned) response.writeHead(403).end()
      else if (method === 'PUT') {
        if (sent !== createHash('sha256').update(body).digest('hex')) return void response.writeHead(400).end()
        objects.set(pathname, body)
        response.end()
      } else if (method === 'DELETE') {
        objects.delete(pathname)
        response.writeHead(204).end()
      } else if (searchParams.get('list-type') === '2' && pathname === '/bucket') {
        const prefix = `/bucket/${searchParams.get('prefix')}`
        const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).slice(0, 2)
        response.end(`<R>${keys.map((key) => `<Contents><Key>${key.slice(8)}</Key></Contents>`).join('')}</R>`)
      } else {
        const found = objects.get(pathname)
        if (found === undefined) response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
        else response.end(found)
      }
    }
    const server = createServer((request, response) => void answer(request, response))
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    const stores = s3Payloads({
      bucketUrl: `http://127.0.0.1:${port}/bucket/`,
      accessKeyId: 'key',
      secretAccessKey: 'secret',
      prefix: 'halting/',
      pauseMs: 1,
    })
    return { stores, objects, asked }
  }

  test('keeps the promises of a store', async () => {
    const { stores, objects } = await bucketOf(() => undefined)
    expect(await checkPayloads(stores)).toEqual([])
    expect([...objects.keys()]).toEqual([])
  })

  test('is called again if it is busy, fails or closes the connection', async () => {
    const faults = [503, null, 429]
    const { stores } = await bucketOf((count) => faults[count - 1])
    expect(await checkPayloads(stores)).toEqual([])
  })

  test('is called five times, and then its answer is reported', async () => {
    const { stores, asked } = await bucketOf(() => 503)
    await expect(stores.of('session').put('text')).rejects.toThrow(
      /^PUT halting\/session\/[0-9a-f]{64} failed in the bucket: 503 .*SlowDown/,
    )
    expect(asked.length).toBe(5)
  })

  test('is called once if it refuses', async () => {
    const { stores, asked } = await bucketOf(() => 403)
    await expect(stores.of('session').put('text')).rejects.toThrow('403')
    expect(asked.length).toBe(1)
  })

  test('detects changed content', async () => {
    const { stores, objects } = await bucketOf(() => undefined)
    const reference = await stores.of('session').put('text')
    objects.set(`/bucket/halting/session/${reference.sha256}`, Buffer.from('TEXT'))
    await expect(stores.of('session').get(reference)).rejects.toThrow('was changed: expected')
  })

  test('needs an address and keys', () => {
    const keys = { accessKeyId: 'key', secretAccessKey: 'secret' }
    expect(() => s3Payloads({ bucketUrl: 'bucket', ...keys })).toThrow('is not a valid bucket address')
    expect(() => s3Payloads({ bucketUrl: 'http://localhost/bucket', ...keys, accessKeyId: '' })).toThrow('accessKeyId')
  })
})

describe('large records', () => {
  const recordOf = (bytes: number): StepRecord => ({ type: 'rewind', entries: 1, after: 'x'.repeat(bytes) })

  test('go into the store and are restored', async () => {
    const store = new MemoryPayloads(1_000)
    const log = new ClusterLog(store)
    log.append(recordOf(100_000))
    log.append(recordOf(10))
    const text = await log.take()
    expect(text.length).toBeLessThan(1_000)
    const batch = await decodeBatch(text, store, new SessionTexts())
    expect(batch.records).toEqual([recordOf(100_000), recordOf(10)])
    expect(batch.stored.map(({ type }) => type)).toEqual(['packed', 'rewind'])
    await expect(decodeBatch(text, undefined, new SessionTexts())).rejects.toThrow('this program has none')
  })

  test('are refused without a store if they are too large for the engine', () => {
    expect(() => new ClusterLog().append(recordOf(maxInlineBytes))).toThrow('Give the worker a payload store.')
  })
})

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
