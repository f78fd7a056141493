// Anything can answer at the address of a cluster: it is reported in one sentence, not followed elsewhere, and cannot control the terminal.
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { installProgram, run, start, type Running } from '../support/program.ts'

installProgram()

let server: Server | undefined
const running = new Set<Running>()
afterEach(async () => {
  for (const each of running) each.child.kill('SIGKILL')
  running.clear()
  server?.closeAllConnections()
  await new Promise((resolve) => server?.close(resolve))
})

async function answering(listener: RequestListener): Promise<string> {
  server = createServer(listener)
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  // It listens on a port.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const saying =
  (text: string, status = 200, headers: { readonly [name: string]: string } = {}): RequestListener =>
  (request, response) => {
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  }

const status = { state: 'idle', turns: 1, usd: 0, tokens: 0, questions: [], records: 1 }
const listed = (...rows: readonly unknown[]): string => JSON.stringify({ rows })
const kept = (value: unknown): string => listed({ service_key: 'a', id: 'inv_1', value_utf8: JSON.stringify(value) })

/** How the list and the inspector report it. */
async function reportsOf(address: string): Promise<readonly unknown[]> {
  const reports: unknown[] = []
  for (const command of ['inspect', 'sessions']) {
    const each = start([command, '--cluster', address, '--admin', address])
    running.add(each)
    reports.push(await each.ended)
  }
  return reports
}

/** One sentence each. */
const refusals = (said: string): readonly unknown[] => {
  const sentence = new RegExp(`^halting: The cluster at http://127\\.0\\.0\\.1:\\d+ [^\\n]*${said}[^\\n]*\\n$`)
  const refusal = { status: 2, stdout: '', stderr: expect.stringMatching(sentence) as string }
  return [refusal, refusal]
}

test.each([
  ['a page', '<html>hi', 'returned invalid JSON'],
  ['nothing', 'null', 'does not return a list of sessions'],
  ['no rows', '{}', 'does not return a list of sessions'],
  ['rows that are none', '{"rows":{}}', 'does not return a list of sessions'],
  ['an invalid row', listed(null), 'does not return a list of sessions'],
  ['an invalid name', listed({ service_key: 5, value_utf8: '{}' }), 'does not return a list of sessions'],
  [
    'a status that is no JSON',
    listed({ service_key: 'a', id: 'inv_1', value_utf8: '{' }),
    'has no status of the session a',
  ],
  ['an invalid status', kept(null), 'has no status of the session a'],
  ['figures that are none', kept({ ...status, usd: '5' }), 'has no status of the session a'],
  ['questions that are none', kept({ ...status, questions: [null] }), 'has no status of the session a'],
])('reports %s as an invalid response', async (_, text, said) => {
  expect(await reportsOf(await answering(saying(text)))).toEqual(refusals(said))
})

test('does not follow a redirect', async () => {
  let followed = 0
  const address = await answering((request, response) => {
    if (request.url === '/other') followed++
    saying('{"rows":[]}', request.url === '/other' ? 200 : 307, { location: '/other' })(request, response)
  })
  expect(await reportsOf(address)).toEqual(refusals('answered with status 307'))
  expect(followed).toBe(0)
})

test('reports invalid records, and builds no session from them', async () => {
  // More records are requested until there are no further ones.
  const answers: unknown[] = [[{ type: 'start', scope: '', start: {} }], [], 'none']
  const address = await answering((request, response) => {
    saying(JSON.stringify({ records: answers.shift() }))(request, response)
  })
  for (const said of ['start.run must be an object, but it is absent', 'no records']) {
    const { status: exit, stdout, stderr } = await run(['why', 'a', '--cluster', address])
    expect({ exit, stdout, stderr }).toEqual({ exit: 2, stdout: '', stderr: expect.stringContaining(said) as string })
    expect(stderr).not.toContain('    at ')
  }
})
