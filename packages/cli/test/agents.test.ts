// Holds rules of docs/spec: R-AGENT-3, R-AGENT-5, R-AGENT-1a, R-AGENT-9 to R-AGENT-11, R-SUB-3, R-SUB-6a, R-SUB-7: subagents in runs of the program.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { call, here, installProgram, type Line, linesOf, run, script, start } from './support/program.ts'

installProgram()

let project = ''
let config = ''
beforeEach(() => {
  project = mkdtempSync(join(here(), 'project-'))
  config = mkdtempSync(join(here(), 'config-'))
  mkdirSync(join(project, '.claude/agents'), { recursive: true })
})
afterEach(() => {
  for (const folder of [project, config]) rmSync(folder, { recursive: true, force: true })
})

const stream = ['--output-format', 'stream-json', '--verbose']
const options = () => ({ cwd: project, env: { HALTING_CONFIG_DIR: config } })
const agent = (name: string, fields = '') =>
  writeFileSync(
    join(project, '.claude/agents', `${name}.md`),
    `---\nname: ${name}\ndescription: Does ${name}\n${fields}\n---\nYou are ${name}.\n`,
  )
const finding = [
  { when: 'go', content: [call('Agent', { description: 'find it', prompt: 'TASK-A', subagent_type: 'finder' })] },
  { when: 'TASK-A', content: ['I look.', call('Read', { file_path: 'port.txt' })] },
  { when: '8080', content: 'It is 8080.' },
  { when: 'It is 8080.', content: 'Done.' },
]

async function runAgents(args: readonly string[], replies: readonly unknown[]) {
  const { status, stdout, stderr } = await run(
    [...stream, '--script', script(replies, 'claude-haiku-4-5'), '-p', 'go', ...args],
    options(),
  )
  const lines: readonly Line[] = stdout === '' ? [] : linesOf(stdout)
  const init = lines.find(({ subtype }) => subtype === 'init')
  return { status, stderr, lines, init, result: lines.at(-1) }
}

/** A summary of the messages below a call. */
const under = (lines: readonly Line[]): readonly unknown[] =>
  lines
    .filter(({ type }) => type === 'assistant' || type === 'user')
    .map(({ type, parent_tool_use_id: parent }) => [type, parent === null ? 'main' : 'agent'].join(' of '))

test('runs an agent from a file, and reports its messages, hooks and cost', async () => {
  agent('finder', 'tools: Read, Grep\npermissionMode: bypassPermissions')
  writeFileSync(join(project, '.claude/agents/README.md'), 'About these.')
  writeFileSync(join(project, 'port.txt'), '8080\n')
  const hook = (file: string) => [{ matcher: 'finder', hooks: [{ type: 'command', command: `cat > ${file}` }] }]
  const hooks = { SubagentStart: hook('start.json'), SubagentStop: hook('stop.json') }
  const settings = JSON.stringify({ hooks })
  const { status, stderr, lines, init, result } = await runAgents(['--settings', settings], finding)
  expect(status).toBe(0)
  expect(init).toMatchObject({ agents: ['general-purpose', 'finder'], tools: expect.arrayContaining(['Agent']) })
  expect(stderr).toContain('README.md is not a valid agent: it has no header')
  expect(stderr).toContain('permissionMode: bypassPermissions of the agent finder')
  expect(under(lines)).toEqual([
    'assistant of main',
    'user of agent',
    'assistant of agent',
    'assistant of agent',
    'user of agent',
    'assistant of agent',
    'user of main',
    'assistant of main',
  ])
  const ofTask = lines.flatMap(({ subtype, description, status: how }) =>
    subtype === 'task_started' || subtype === 'task_notification' ? [[subtype, description ?? how]] : [],
  )
  expect(ofTask).toEqual([
    ['task_started', 'find it'],
    ['task_notification', 'completed'],
  ])
  const about = (file: string): unknown => JSON.parse(readFileSync(join(project, file), 'utf8'))
  expect(about('start.json')).toMatchObject({ hook_event_name: 'SubagentStart', agent_type: 'finder' })
  expect(about('stop.json')).toMatchObject({ agent_type: 'finder', last_assistant_message: 'It is 8080.' })
  // Its tokens count in the totals of the session, but not in those of the main loop.
  const { usage, modelUsage } = result as unknown as {
    readonly usage: { readonly input_tokens: number }
    readonly modelUsage: { readonly [model: string]: { readonly inputTokens: number; readonly costUSD: number } }
  }
  expect(modelUsage['claude-haiku-4-5']?.inputTokens).toBeGreaterThan(usage.input_tokens)
  expect(result?.['total_cost_usd']).toBe(modelUsage['claude-haiku-4-5']?.costUSD)
})

test('reports a background agent as a task by its ID, and its messages below its call', async () => {
  agent('finder', 'tools: Read\nbackground: true\nmaxBudgetUsd: 5\nmaxDuration: 10m')
  writeFileSync(join(project, 'port.txt'), '8080\n')
  const input = { description: 'find it', prompt: 'TASK-A', subagent_type: 'finder' }
  const { status, lines, result } = await runAgents(
    [],
    [
      { when: 'go', content: [call('Agent', input)] },
      { when: 'TASK-A', content: [call('Read', { file_path: 'port.txt' })] },
      { when: 'runs in the background as agent_', content: 'I wait.' },
      { when: '8080', content: 'It is 8080.' },
      { when: '<agent_result', content: 'Done.' },
    ],
  )
  expect([status, result?.['result']]).toEqual([0, 'Done.'])
  const tasks = lines.filter(({ subtype }) => subtype === 'task_started' || subtype === 'task_notification')
  expect(tasks).toMatchObject([
    { subtype: 'task_started', task_id: expect.stringMatching(/^agent_/), description: 'The agent finder (find it)' },
    { subtype: 'task_notification', task_id: tasks[0]?.['task_id'], status: 'completed' },
  ])
  expect(tasks[1]?.['tool_use_id']).toBe(tasks[0]?.['tool_use_id'])
  expect(under(lines).filter((line) => String(line).endsWith('agent')).length).toBeGreaterThan(2)
  expect(result).toMatchObject({ num_turns: 3, modelUsage: { 'claude-haiku-4-5': expect.anything() } })
})

test('reports an agent that a limit stopped, with its partial findings', async () => {
  agent('finder', 'maxTurns: 1')
  writeFileSync(join(project, 'port.txt'), '8080\n')
  const [go, look] = finding
  const { status, lines } = await runAgents([], [go, look, { content: 'Done.' }])
  expect(status).toBe(0)
  const results = lines.filter(({ type, parent_tool_use_id: parent }) => type === 'user' && parent === null)
  expect(JSON.stringify(results)).toContain(
    'The agent was stopped before it was done (steps_limit: Reached maximum number of turns (1)). Its last output:\\n\\nI look.',
  )
})

test('adds agents with --agents, and removes them by rules, --tools and limits', async () => {
  const done = [{ content: 'Done.' }]
  const json = JSON.stringify({ helper: { description: 'Helps', prompt: 'You help.' } })
  expect((await runAgents(['--agents', json], done)).init?.['agents']).toEqual(['general-purpose', 'helper'])
  const denied = await runAgents(['--agents', json, '--disallowedTools', 'Agent(helper)'], done)
  expect(denied.init?.['agents']).toEqual(['general-purpose'])
  for (const without of [
    ['--disallowedTools', 'Agent'],
    ['--tools', 'Read'],
    ['--max-subagents', '0'],
  ])
    expect((await runAgents(without, done)).init).toMatchObject({ tools: expect.not.arrayContaining(['Agent']) })
  const wrong = await runAgents(['--agents', '{"helper": {"prompt": "p"}}'], done)
  expect([wrong.status, wrong.lines]).toEqual([2, []])
  expect(wrong.stderr).toContain('The value of --agents has an agent helper: it has no description.')
})

test('says which agents can still be started when a limit is used up', async () => {
  const asks = (prompt: string) => call('Agent', { prompt })
  const { lines } = await runAgents(
    ['--max-subagents', '1'],
    [{ content: [asks('TASK-A'), asks('TASK-B')] }, { when: 'TASK-A', content: 'a' }, { content: 'Done.' }],
  )
  expect(JSON.stringify(lines)).toContain('This run can start at most 1 subagent, and the limit is reached.')
})

test('resumes inside an agent if the program was killed while the agent was running', async () => {
  agent('finder')
  writeFileSync(join(project, 'port.txt'), '8080\n')
  const [go, look, ...rest] = finding
  const first = script([go, look, { when: '8080', delay_ms: 600_000, content: 'never said' }], 'claude-haiku-4-5')
  const running = start([...stream, '--script', first, '-p', 'go'], options())
  await running.waitForOutput('"content":"     1\\t8080"')
  running.child.kill('SIGKILL')
  const { stdout } = await running.ended
  const [init] = linesOf(`${stdout.slice(0, stdout.indexOf('\n'))}\n`)
  const id = String(init?.['session_id'])
  const again = script(rest, 'claude-haiku-4-5')
  const { stdout: after, status } = await run([...stream, '--script', again, '-p', '--resume', id], options())
  const lines = linesOf(after)
  expect([status, lines.at(-1)]).toEqual([0, expect.objectContaining({ subtype: 'success', result: 'Done.' })])
  // The first request is not repeated, since the script has no reply for it.
  expect(JSON.stringify(lines)).toContain('It is 8080.')
})
