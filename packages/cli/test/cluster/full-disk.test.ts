// Holds rules of docs/spec: R-OPER-3.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { isLogDisabled, watchFullDisk } from '../../src/cluster/dev.ts'

const row = (status: string, value: string): string =>
  `restate_log_server_store_records_total{cluster_name="x",node_name="n1",status="${status}"} ${value}\n`

test("detects from the metrics that a node's log accepts no records", () => {
  const help = '# TYPE restate_log_server_store_records_total counter\n'
  expect(isLogDisabled(`${help}${row('ok', '5884')}${row('disabled', '35')}`)).toBe(true)
  expect(isLogDisabled(`${help}${row('ok', '5884')}`)).toBe(false)
  expect(isLogDisabled(`${help}${row('disabled', '0')}`)).toBe(false)
  expect(isLogDisabled('')).toBe(false)
})

test('restarts the server once the disk has free space, and reports the problem once', async () => {
  let metrics = row('ok', '1')
  const server = createServer((_, response) => void response.end(metrics))
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
  const over = new AbortController()
  const said: string[] = []
  let onRestart = (): void => {}
  const hasRestarted = new Promise<void>((resolve) => (onRestart = resolve))
  let [free, looks, restarts] = [1e6, 0, 0]
  const watch = watchFullDisk({
    engine: {
      node: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      restart: async () => {
        restarts++
        onRestart()
        metrics = row('ok', '1')
      },
    },
    folder: '/data',
    signal: over.signal,
    report: (message) => said.push(message),
    intervalMs: 1,
    async freeBytes() {
      if (++looks === 3) free = 1e9
      return free
    },
  })
  metrics = row('disabled', '2')
  await hasRestarted
  over.abort()
  await watch
  server.close()
  expect([restarts, looks]).toEqual([1, 3])
  expect(said).toEqual([
    'the server cannot write: the disk of /data is full. It restarts when 160 MB are free.',
    'the server could not write and was restarted. Sessions continue.',
  ])
})
