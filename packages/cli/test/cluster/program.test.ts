// Holds rules of docs/spec: R-WORK-7, R-WORK-8, R-WORK-8a
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installProgram, run } from '../support/program.ts'

installProgram()

/** The answers of a session's object: one run of a prompt, which a worker has ended. */
const asked: { readonly path: string; readonly body: unknown }[] = []
const status = {
  state: 'idle',
  reason: 'completed',
  turns: 2,
  usd: 0.01,
  tokens: 10,
  questions: [],
  records: 0,
  isWorking: false,
  isClosed: false,
  waiting: 0,
}
/** Invocations that the engine has paused. */
let paused: readonly object[] = []
let server: Server | undefined
let url = ''
let hasWorker = true

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      asked.push({ path: request.url ?? '', body: text === '' ? undefined : JSON.parse(text) })
      const answers: { readonly [end: string]: unknown } = {
        '/status': status,
        '/query': { rows: [...paused, { service_key: 's-1', value_utf8: JSON.stringify(status), total: 1 }] },
        '/records': { first: 0, records: [] },
      }
      const answer = Object.entries(answers).find(([end]) => hasWorker && request.url?.endsWith(end) === true)
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer === undefined ? { message: 'service not found' } : answer[1]))
    })
  })
  await new Promise<void>((listens) => server?.listen(0, '127.0.0.1', listens))
  // True: it listens on a port, so its address has one.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server?.close())

const isOldNode = Number.parseInt(process.versions.node, 10) < 22

test.skipIf(!isOldNode)("reports a Node that the engine's library does not support", async () => {
  for (const args of [
    ['serve', '--restate', 'http://127.0.0.1:1'],
    ['cluster', 'dev'],
  ]) {
    const { status: code, stderr } = await run(args)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^halting: halting (?:serve|cluster dev) needs Node 22 or later/)
  }
})

test('lists sessions of a cluster in the form of local ones', async () => {
  const { status: code, stdout } = await run(['sessions', '--cluster', url, '--admin', url])
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: 'SESSION  AGE  STATE      TURNS  COST\ns-1      -    completed  2      $0.0100\n',
  })
  const { stdout: json } = await run(['sessions', '--cluster', url, '--admin', url, '--json'])
  expect(JSON.parse(json)).toEqual({ sessions: [{ sessionId: 's-1', ...status }], total: 1 })
})

test('lists a paused session first, with the command that continues it', async () => {
  paused = [
    { service_key: 's-0', invocation: 'inv_0', work: 'paused' },
    { service_key: 's-2', value_utf8: JSON.stringify(status), invocation: 'inv_2', work: 'paused' },
  ]
  const { stdout } = await run(['sessions', '--cluster', url, '--admin', url])
  paused = []
  expect(stdout).toBe(
    [
      'SESSION  AGE  STATE      TURNS  COST',
      's-0      -    paused     0      -',
      '  is paused: restate invocations resume inv_0',
      's-2      -    paused     2      $0.0100',
      '  is paused: restate invocations resume inv_2',
      's-1      -    completed  2      $0.0100',
      '',
    ].join('\n'),
  )
})

test('refuses unsupported options before any request', async () => {
  const worktree = mkdtempSync(join(tmpdir(), 'halting-worktree-'))
  writeFileSync(join(worktree, '.git'), 'gitdir: /repository/.git/worktrees/one\n')
  const before = asked.length
  for (const [args, said] of [
    [['-p', 'hi', '--cluster', url, '--allowedTools', 'Bash'], '--allowedTools cannot be combined with --cluster'],
    [['hi there', '--cluster', url], '--cluster needs -p'],
    [['-p', 'hi', '--cluster', 'here'], '--cluster takes an address'],
    [['undo', '--cluster', url], '--cluster is only valid with'],
    [['sessions', 'show', 'x', '--cluster', url], 'With --cluster, halting sessions show is not a command'],
    [['why', '--cluster', url], 'Name the session'],
    [['serve'], '--restate http://127.0.0.1:8080'],
    [['serve', '--restate', url, '--workspace-template', worktree], 'is a git worktree'],
    [['-p', 'hi', '--concurrency', '2', '--register'], '--register belongs to halting serve'],
  ] as const) {
    const { status: code, stderr } = await run(args)
    expect({ args, code, stderr }).toEqual({ args, code: 2, stderr: expect.stringContaining(said) as string })
  }
  rmSync(worktree, { recursive: true })
  expect(asked.length).toBe(before)
})

test('reports an unknown session like a local one', async () => {
  for (const args of [
    ['why', 's-9'],
    ['-p', 'hi', '--resume', 's-9'],
  ]) {
    const { status: code, stderr } = await run([...args, '--cluster', url])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('No conversation found with session ID: s-9') as string,
    })
  }
})

test('reports a missing cluster or worker with advice', async () => {
  const { status: gone, stderr: whyGone } = await run(['why', 's-1', '--cluster', 'http://127.0.0.1:1'])
  expect({ gone, whyGone }).toEqual({ gone: 2, whyGone: expect.stringContaining('does not answer') as string })
  hasWorker = false
  const { stderr } = await run(['-p', 'hi', '--cluster', url])
  hasWorker = true
  expect(stderr).toContain('No worker is registered there. Use halting serve --register.')
})
