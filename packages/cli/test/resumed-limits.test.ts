// Holds R-LIM-4b of docs/spec: a run of a killed process continues within the limits given with --resume.
import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startScriptedServer } from '@halting/models/scripted'
import { expect, onTestFinished, test } from 'vitest'
import { endHosts, host, user } from './support/host.ts'
import { here, installProgram, linesOf, run } from './support/program.ts'

installProgram()
endHosts()

const use = (name: string, input: object): object => ({ content: [{ type: 'tool_use', name, input }] })
const read = (offset: number): object => use('Read', { file_path: 'a.txt', offset, limit: 1 })

test('prefers a flag to limits set in the run, and keeps those without one', async () => {
  const cwd = realpathSync(mkdtempSync(join(here(), 'resumed-')))
  writeFileSync(join(cwd, 'a.txt'), 'line\n'.repeat(400))
  const replies = [use('Bash', { command: 'sleep 0.5' }), read(1), use('Bash', { command: 'sleep 2' })]
  const one = await host(replies, { cwd, args: ['--allowedTools=Bash', '--max-turns=30'] })
  one.send(user('go'))
  const { session_id: id } = await one.first(({ subtype }) => subtype === 'init')
  await one.first(({ type }) => type === 'assistant')
  const limits = { maxTurns: 12, maxRunUsd: null }
  expect(await one.ask('apply_flag_settings', { settings: { limits } })).toMatchObject({ subtype: 'success' })
  // The change is on record before the request after it.
  while (one.service.requests.length < 3) await wait(5)
  one.running.child.kill('SIGKILL')
  const server = await startScriptedServer({ replies: Array.from({ length: 40 }, (_, index) => read(index + 2)) })
  onTestFinished(() => server.close())
  const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: server.url, ANTHROPIC_MODEL: 'claude-sonnet-5-5' }
  const resumed = async (...args: readonly string[]): Promise<unknown> => {
    const { stdout } = await run(['-p', '--resume', String(id), '--output-format', 'json', ...args], { cwd, env })
    return linesOf(stdout).map(({ subtype, num_turns: turns }) => [subtype, turns])
  }
  expect(await resumed('--fork-session')).toEqual([['error_max_turns', 12]])
  expect(await resumed('--max-turns', '5')).toEqual([['error_max_turns', 5]])
})
