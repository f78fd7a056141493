// Spec R-HOST-1: every option of the Python SDK as it writes it: values are words of their own.
import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { endHosts, host } from '../support/host.ts'
import { here, installProgram } from '../support/program.ts'

installProgram()
endHosts()

const reply = { content: '{"n": 3}' }
const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }

test('reads all options of the Python SDK without a message on stderr', async () => {
  const cwd = mkdtempSync(join(here(), 'python-'))
  const folder = join(cwd, 'other')
  mkdirSync(folder)
  const sessionId = '11111111-2222-4333-8444-777777777777'
  const args = [
    ['--system-prompt', 'You are brief.'],
    ['--append-system-prompt', 'Mind the gap.'],
    ['--tools', 'Read,Bash,Glob'],
    ['--allowedTools', 'Read,Bash(ls *)'],
    ['--disallowedTools', 'Glob'],
    ['--max-turns', '3'],
    ['--max-budget-usd', '1.5'],
    ['--task-budget', '50000'],
    ['--model', 'claude-sonnet-5-5'],
    ['--fallback-model', 'claude-haiku-4-5'],
    ['--betas', 'context-1m-2025-08-07'],
    ['--permission-prompt-tool', 'stdio'],
    ['--permission-mode', 'acceptEdits'],
    ['--session-id', sessionId],
    ['--settings', '{"permissions":{"deny":["Read(secret)"]}}'],
    ['--add-dir', folder],
    ['--mcp-config', '{"mcpServers":{}}'],
    ['--include-partial-messages'],
    ['--setting-sources', ''],
    ['--thinking', 'adaptive'],
    ['--effort', 'high'],
    ['--json-schema', JSON.stringify(schema)],
  ].flat()
  const one = await host([reply, reply], { args, cwd })
  const agents = { reviewer: { description: 'Reviews', prompt: 'You review.' } }
  expect((await one.ask('initialize', { hooks: null, agents })).subtype).toBe('success')
  const result = await one.say('hi')
  expect(result).toMatchObject({ session_id: sessionId, structured_output: { n: 3 } })
  const init = one.lines().find(({ subtype }) => subtype === 'init')
  expect(init).toMatchObject({ permissionMode: 'acceptEdits', model: 'claude-sonnet-5-5', session_id: sessionId })
  expect(init?.['tools']).toEqual(['Read', 'Bash'])
  const body = JSON.stringify(one.service.requests[0]?.body)
  for (const words of ['You are brief.', 'Mind the gap.', '50000', 'adaptive', '"effort":"high"'])
    expect(body).toContain(words)
  expect(one.lines().some(({ type }) => type === 'stream_event')).toBe(true)
  const { status, stderr } = await one.end()
  expect([status, stderr]).toEqual([0, ''])
})

test('resumes as a copy, and reports and ignores a flag of a later version', async () => {
  const cwd = mkdtempSync(join(here(), 'python-'))
  const first = await host([{ content: 'I remember.' }], { cwd })
  const { session_id: id } = await first.say('one')
  await first.end()
  const args = ['--resume', String(id), '--fork-session', '--max-thinking-tokens', '2000', '--from-the-future', 'x']
  const next = await host([{ content: 'Two.' }], { args, cwd })
  expect((await next.say('two'))['session_id']).not.toBe(id)
  expect(JSON.stringify(next.service.requests[0]?.body)).toContain('I remember.')
  expect((await next.end()).stderr).toContain('--from-the-future')
})
