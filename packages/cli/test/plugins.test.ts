// Holds R-PLUGIN-1, R-PLUGIN-4, R-PLUGIN-5, R-PLUGIN-5a, R-PLUGIN-6 and R-PLUGIN-7 of docs/spec in runs of the program. For hosts: host/sdk-options.test.ts.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { say, talk } from './support/acp-program.ts'
import { call, here, installProgram, linesOf, run, script } from './support/program.ts'
import { server } from './support/servers.ts'

const isBubblewrapThere =
  process.platform === 'linux' && spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', 'true']).status === 0

installProgram()

function put(path: string, text: string | object): void {
  mkdirSync(dirname(join(here(), path)), { recursive: true })
  writeFileSync(join(here(), path), typeof text === 'string' ? text : JSON.stringify(text))
}

const hook = (command: string) => ({ hooks: { UserPromptSubmit: [{ hooks: [{ type: 'command', command }] }] } })
const stream = ['--output-format', 'stream-json', '--verbose']
const done = { content: 'Done.' }

test('runs a command and the hook of halting -p --plugin-dir without a trust question', async () => {
  put('p/commands/fix.md', 'Fix $1, as ${CLAUDE_PLUGIN_ROOT} says.')
  put('p/hooks/hooks.json', hook('echo "of $CLAUDE_PLUGIN_ROOT"'))
  const replies = script([{ expect: `Fix 12, as ${join(here(), 'p')} says.`, ...done }])
  const { status, stdout, stderr } = await run(['-p', '/p:fix 12', '--plugin-dir', 'p', '--script', replies])
  expect([status, stdout.trim(), stderr.includes('plugin')]).toEqual([0, 'Done.', false])
  const agentScript = script([{ expect: `of ${join(here(), 'p')}`, ...done }])
  expect(await run(['-p', 'go', '--plugin-dir', 'p', '--script', agentScript])).toMatchObject({
    status: 0,
    stdout: 'Done.\n',
  })
})

test('reports a missing plugin, and continues', async () => {
  const { status, stdout, stderr } = await run(['-p', 'go', '--plugin-dir', 'nowhere', '--script', script([done])])
  expect([status, stdout]).toEqual([0, 'Done.\n'])
  expect(stderr).toContain(`halting: there is no plugin in ${join(here(), 'nowhere')}: the folder does not exist.\n`)
})

test("runs the session as a plugin's agent, with only the servers of --mcp-config under --strict-mcp-config", async () => {
  put('q/agents/judge.md', '---\nname: judge\ndescription: Judges.\ntools: Read\n---\nYou judge.')
  put('q/.mcp.json', { good: { command: process.execPath, args: [server, 'good', ''] } })
  const flags = ['-p', 'go', '--plugin-dir', 'q', ...stream]
  const env = { HALTING_MCP_WAIT_MS: '60000' }
  const asAgent = await run([...flags, '--agent', 'q:judge', '--script', script([done])], { env })
  const [first] = linesOf(asAgent.stdout)
  expect(first).toMatchObject({
    tools: expect.arrayContaining(['Read', 'mcp__plugin_q_good__say']),
    mcp_servers: [{ name: 'plugin:q:good', status: 'connected' }],
  })
  expect(first).not.toMatchObject({ tools: expect.arrayContaining(['Bash']) })
  const strict = await run([...flags, '--strict-mcp-config', '--script', script([done])], { env })
  expect(linesOf(strict.stdout)[0]).toMatchObject({ mcp_servers: [] })
  const without = await run(['-p', 'go', '--plugin-dir-no-mcp', 'q', ...stream, '--script', script([done])], { env })
  expect(linesOf(without.stdout)[0]).toMatchObject({ plugins: [{ name: 'q' }], mcp_servers: [] })
})

test('runs no plugin hooks if settings disable hooks, and says so', async () => {
  put('h/hooks/hooks.json', hook('touch called; exit 2'))
  const flags = ['-p', 'go', '--plugin-dir', 'h', '--script', script([done])]
  const off = await run([...flags, '--settings', '{"disableAllHooks":true}'])
  expect(off).toMatchObject({ status: 0, stdout: 'Done.\n' })
  expect(off.stderr).toContain('hooks of plugins (h) are ignored because of disableAllHooks in ')
  expect((await run(flags)).stdout).toBe('')
})

test('reads plugin files without asking, and asks about edits even in acceptEdits', async () => {
  put('r/skills/review/SKILL.md', '---\ndescription: Reviews.\n---\nRead list.md.')
  put('r/list.md', 'the list')
  mkdirSync(join(here(), 'work'))
  const path = join(here(), 'r/list.md')
  const replies = script([
    { content: [call('Read', { file_path: path })] },
    { expect: 'the list', content: [call('Edit', { file_path: path, old_string: 'the', new_string: 'no' })] },
    { expect: 'Not allowed', ...done },
  ])
  const flags = ['--plugin-dir', '../r', '--add-dir', '../r', '--permission-mode', 'acceptEdits', '--script', replies]
  const { stdout, status } = await run(['-p', 'go', ...flags], { cwd: join(here(), 'work') })
  expect([status, stdout]).toEqual([0, 'Done.\n'])
})

test.skipIf(!isBubblewrapThere)('lets a sandboxed command neither change nor move the plugin', async () => {
  put('boxed/s/commands/c.md', 'As it was.')
  put('boxed/deep/t/hooks/hooks.json', '{}')
  const command = [
    'echo other > s/commands/c.md',
    'echo more > s/commands/d.md',
    'mv s s2',
    'mv deep deep2',
    'rm -rf deep/t',
    'echo fine > fine.txt',
  ].join('; ')
  const replies = script([{ content: [call('Bash', { command })] }, done])
  const flags = ['--plugin-dir', 's', '--plugin-dir', 'deep/t', '--sandbox', '--allowedTools', 'Bash']
  const cwd = join(here(), 'boxed')
  const { status } = await run(['-p', 'go', ...flags, '--script', replies], { cwd })
  const text = (path: string): string => readFileSync(join(cwd, path), 'utf8').trim()
  expect([status, text('s/commands/c.md'), text('deep/t/hooks/hooks.json'), text('fine.txt')]).toEqual([
    0,
    'As it was.',
    '{}',
    'fine',
  ])
  expect(existsSync(join(cwd, 's/commands/d.md'))).toBe(false)
})

test("resolves halting acp --plugin-dir in the program's folder, not in the editor's", async () => {
  put('mine/commands/greet.md', 'Mine.')
  put('opened/mine/commands/greet.md', 'Of the project.')
  const replies = script([{ expect: 'Mine.', content: 'Hello.' }])
  const { agent, child, ended } = await talk(['--plugin-dir', 'mine', '--script', replies])
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: join(here(), 'opened'), mcpServers: [] })
  const prompt = say('/mine:greet')
  expect(await agent.request(methods.agent.session.prompt, { sessionId, prompt })).toMatchObject({
    stopReason: 'end_turn',
  })
  child.stdin?.end()
  expect((await ended).status).toBe(0)
})
