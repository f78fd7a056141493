// Holds rules of docs/spec: R-LIST-2, R-LIST-2a, R-LIST-3
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LimitRequest } from '@halting/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sessionTable } from '../../src/cluster/list-text.ts'
import { readAllSessions, listedState, readSessionPage } from '../../src/cluster/session-pages.ts'
import { installProgram, run } from '../support/program.ts'

installProgram()

const now = 1_800_000_000_000
const status = { state: 'idle', turns: 3, usd: 0, tokens: 10, questions: [], records: 9 } as const

/** Sessions s-1 to s-5; the engine returns the first ones after a cursor. */
const rows = [1, 2, 3, 4, 5].map((at) => ({
  service_key: `s-${at}`,
  value_utf8: JSON.stringify({ ...status, changedMs: now - at * 60_000, tenant: "a'cme" }),
  rank: 2,
  changed: now - at * 60_000,
  total: 5,
}))
const queries: string[] = []
let server: Server | undefined
let url = ''

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => (text += String(piece)))
    request.on('end', () => {
      const { query } = JSON.parse(text) as { readonly query: string }
      queries.push(query)
      const after = Number(/service_key > 's-(\d)'/.exec(query)?.[1] ?? 0)
      const limit = Number(/limit (\d+)$/.exec(query)?.[1])
      response.end(JSON.stringify({ rows: rows.slice(after, after + limit) }))
    })
  })
  await new Promise<void>((listens) => server?.listen(0, '127.0.0.1', listens))
  // True: it listens on a port, so its address has one.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server?.close())

const flags = (): { readonly cluster: string; readonly admin: string } => ({ cluster: url, admin: url })

test('links pages by cursors, and the last page has none', async () => {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await readSessionPage(flags(), { limit: 2, ...(cursor !== undefined && { cursor }) })
    expect(page.total).toBe(5)
    ids.push(...page.sessions.map(({ sessionId }) => sessionId))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  expect(ids).toEqual(['s-1', 's-2', 's-3', 's-4', 's-5'])
  const every: string[] = []
  for await (const { sessionId } of readAllSessions(flags())) every.push(sessionId)
  expect(every).toEqual(ids)
})

test('prints the command for the next page, and refuses an invalid cursor', async () => {
  const args = ['sessions', '--cluster', url, '--admin', url, '--limit', '2', '--tenant', "a'cme"]
  const first = await run(args)
  expect(first.stdout).toContain('s-1      ')
  const cursor = /--cursor (\S+)/.exec(first.stderr)?.[1] ?? ''
  expect(first.stderr).toContain('2 of 5 sessions. Next page: halting sessions --cluster')
  expect(queries.at(-1)).toContain("tenant = 'a''cme'")
  const second = await run([...args, '--cursor', cursor, '--json'])
  const page = JSON.parse(second.stdout) as { readonly sessions: readonly { readonly sessionId: string }[] }
  expect(page.sessions.map(({ sessionId }) => sessionId)).toEqual(['s-3', 's-4'])
  for (const [wrong, says] of [
    [['--cursor', 'x'], '--cursor takes the value'],
    [['--limit', '0'], 'a whole number from 1 to 1000'],
    [['--limit', '1001'], 'a whole number from 1 to 1000'],
    [['--state', 'dead'], '--state takes'],
  ] as const) {
    const { status: code, stderr } = await run(['sessions', '--cluster', url, '--admin', url, ...wrong])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(says) as string })
  }
  const local = await run(['sessions', '--older-than', '30d'])
  expect({ code: local.status, stderr: local.stderr }).toEqual({
    code: 2,
    stderr: 'halting: --older-than needs --cluster URL: it is about sessions of a cluster.\n',
  })
})

test('shows the age, tenant and state of a session, and below it what it waits for', () => {
  const question = { callId: 'toolu_1', key: 'k', toolName: 'Bash', about: 'npm test' }
  const limitQuestion: LimitRequest = {
    id: 'l',
    limit: 'maxTurns',
    used: 4,
    of: 4,
    most: null,
    offers: [{ to: 8 }],
    message: '',
    sinceMs: 0,
    untilMs: null,
  }
  const asks = { ...status, state: 'requires_action' } as const
  const table = sessionTable(
    [
      {
        ...status,
        sessionId: 'stopped',
        state: 'paused',
        pausedInvocation: 'inv_1',
        tenant: 'acme',
        changedMs: now - 5_000,
      },
      { ...asks, sessionId: 'asks', questions: [question], title: 'Fix the build.', changedMs: now - 3 * 3_600_000 },
      { ...asks, sessionId: 'at-a-limit', limitQuestion, usd: 0.5, changedMs: now - 40 * 86_400_000 },
      { ...status, sessionId: 'deferred', reason: 'needs_approval', changedMs: now + 9_000 },
      { ...status, sessionId: 'works', state: 'running', changedMs: now - 61_000 },
      { ...status, sessionId: 'new' },
    ],
    now,
    80,
  )
  expect(table).toBe(
    [
      'SESSION     AGE  TENANT  STATE    TURNS  COST',
      'stopped     5s   acme    paused   3      -',
      '  is paused: restate invocations resume inv_1',
      'asks        3h   -       waiting  3      -',
      '  Fix the build.',
      '  asks toolu_1: Bash npm test',
      'at-a-limit  40d  -       waiting  3      $0.5000',
      '  asks: Raise the turn limit of this run?',
      'deferred    0s   -       waiting  3      -',
      '  ended with a permission request: answer it with halting approve or deny',
      'works       1m   -       running  3      -',
      'new         -    -       no runs  3      -',
      '',
    ].join('\n'),
  )
  expect(listedState({ ...status, state: 'running', reason: 'needs_approval' })).toBe('running')
})
