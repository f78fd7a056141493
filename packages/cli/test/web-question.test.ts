// Holds R-WEB-8 of docs/spec for the program: which model is asked about a page.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installProgram, run, script } from './support/program.ts'

installProgram()

const site = createServer(
  (_, response) => void response.setHeader('content-type', 'text/plain').end('Closed on Mondays.'),
)
beforeAll(async () => {
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
})
afterAll(() => void site.close())

test.each([
  [['--small-model', 'claude-haiku-4-5'], 'claude-haiku-4-5'],
  [['--compact-model', 'claude-haiku-4-5'], 'claude-haiku-4-5'],
  [['--small-model', 'claude-haiku-4-5', '--compact-model', 'claude-opus-4-5'], 'claude-haiku-4-5'],
  [['--small-model', 'claude-sonnet-5-5'], 'claude-sonnet-5-5'],
  [[], 'claude-sonnet-5-5'],
])('with %j a page is read by %s', async (flags, reader) => {
  const host = `127.0.0.1:${(site.address() as AddressInfo).port}`
  const usage = { input_tokens: 10, output_tokens: 3 }
  const input = { url: `http://${host}/`, prompt: 'When is it closed?' }
  const replies = [
    { content: [{ type: 'tool_use', name: 'WebFetch', input }], usage },
    { when: 'The page has ended.', content: 'On Mondays.', usage: { input_tokens: 100, output_tokens: 3 } },
    { expect: 'On Mondays.', content: 'Come on Tuesday.', usage },
  ]
  const file = script(replies, 'claude-sonnet-5-5')
  const args = ['-p', 'When is it closed?', '--allowedTools', 'WebFetch', '--script', file, '--output-format', 'json']
  const { status, stdout, stderr } = await run([...args, ...flags], { env: { HALTING_PRIVATE_HOSTS: '127.0.0.1' } })
  expect({ status, stderr, stdout: status === 0 ? '' : stdout }).toEqual({ status: 0, stderr: '', stdout: '' })
  const { result, modelUsage } = JSON.parse(stdout) as {
    result: string
    modelUsage: Record<string, { inputTokens: number }>
  }
  expect(result).toBe('Come on Tuesday.')
  expect(modelUsage[reader]?.inputTokens).toBe(reader === 'claude-sonnet-5-5' ? 120 : 100)
})
