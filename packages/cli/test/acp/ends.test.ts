// Holds rules of docs/spec: R-ACP-3, R-ACP-14: whenever the program ends, by its stdin or by a signal, it leaves nothing open.
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { expect, test, vi } from 'vitest'
import { readJournal } from '@halting/journal'
import { foldSession } from '@halting/core/steps'
import { transcriptProblems } from '@halting/core/testing'
import { say, talk } from '../support/acp-program.ts'
import { callProblems, updatesIn } from '../support/acp-schema.ts'
import { call, here, installProgram, script, stillAlive } from '../support/program.ts'
import { sessionPath } from '../support/store-session.ts'

installProgram()

const moments = Array.from({ length: 20 }, (_, index) => index)

/** A run with text, searches, a command that keeps running, a question and a subagent: something is open at every moment. */
function replies(pid: string): readonly unknown[] {
  return [
    { content: ['I look.', call('Glob', { pattern: '*' }), call('Grep', { pattern: 'x' })] },
    { content: ['I write.', call('Write', { file_path: 'a.txt', content: 'new\n' })] },
    { content: [call('Agent', { description: 'Look', prompt: 'Look.' })] },
    { content: [call('Glob', { pattern: '*.txt' })] },
    { content: 'It is there.' },
    { content: ['I wait.', call('Bash', { command: `echo $$ > ${pid}; sleep 600` })] },
  ]
}

test.each(moments)('closes everything after message %i of the program', async (moment) => {
  const cwd = join(here(), `end-${moment}`)
  mkdirSync(cwd)
  const pid = join(cwd, 'pid')
  const one = await talk(['--script', script(replies(pid)), '--allowedTools', 'Bash'])
  one.child.stdin?.on('error', () => undefined)
  const { sessionId } = await one.agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  const before = one.wire.said.length
  const answered = one.agent.request(methods.agent.session.prompt, { sessionId, prompt: say('go') }).then(
    (answer) => (answer as { readonly stopReason: string }).stopReason,
    () => 'no answer',
  )
  // The last moments wait until the command runs.
  const isThere = (): boolean => one.wire.said.length - before > moment * 2 || existsSync(pid)
  await vi.waitUntil(isThere, { timeout: 60_000, interval: 1 })
  const isSignal = moment % 2 === 0
  if (isSignal) one.child.kill('SIGTERM')
  else one.child.stdin?.end()
  expect(await one.exited()).toBe(isSignal ? 143 : 0)
  expect(['cancelled', 'no answer']).toContain(await answered)
  expect([callProblems(updatesIn(one.wire)), one.wire.problems, one.strangers, one.stderr()]).toEqual([[], [], [], ''])
  const path = sessionPath(sessionId, cwd)
  const { runs } = existsSync(path) ? await readJournal(path) : { runs: [] }
  const { transcript, open } = foldSession(runs)
  expect(runs.length).toBeGreaterThanOrEqual(moment < 4 ? 0 : 1)
  expect([open, transcriptProblems(transcript.messages())]).toEqual([undefined, []])
  const processes = existsSync(pid) ? [Number(readFileSync(pid, 'utf8'))] : []
  expect(await stillAlive(processes.filter((id) => id > 0))).toEqual([])
})
