// Telemetry works completely in each frontend of the program: the spans are the tree of the record.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { readJournal } from '@halting/journal'
import type { StepRecord } from '@halting/core/steps'
import { expect, onTestFinished, test } from 'vitest'
import { promptOnCluster } from '../src/cluster/prompt.ts'
import { say, talk } from './support/acp-program.ts'
import { servedCluster } from './support/cluster.ts'
import { endHosts, host } from './support/host.ts'
import { sessionPath } from './support/store-session.ts'
import { outOfPlace, spansOf, treesOf, type SpanNode } from './support/otlp-forms.ts'
import { asRecorded, treeOfRecord } from './support/otlp-of-record.ts'
import { installCollector } from './support/otlp.ts'
import { call, waitForFileText, here, installProgram, linesOf, run, script, start } from './support/program.ts'
import { programInMemory } from './support/program-in-memory.ts'

installProgram()
endHosts()
const collector = installCollector()

const env = () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
const trees = (): readonly SpanNode[] => treesOf(spansOf(collector.received)).map(asRecorded)

async function runsOf(sessionId: string, cwd: string = here()): Promise<readonly (readonly StepRecord[])[]> {
  return (await readJournal(sessionPath(sessionId, cwd))).runs
}

const look = { content: ['I look.', call('Bash', { command: 'echo seen' })] }

test("sends a tree for each run of a host's session", async () => {
  const driven = await host([look, { content: 'First.' }, { content: 'Second.' }], {
    env: env(),
    args: ['--allowedTools', 'Bash', '--permission-mode', 'default'],
  })
  const { session_id: sessionId } = await driven.say('go')
  await driven.say('again')
  const { status } = await driven.end()
  expect(status).toBe(0)
  expect(trees()).toEqual((await runsOf(String(sessionId))).map(treeOfRecord))
  expect(outOfPlace(spansOf(collector.received))).toEqual([])
})

test("sends a tree for an editor's session", async () => {
  const cwd = join(here(), 'edited')
  mkdirSync(cwd)
  const { agent, child, exited } = await talk(['--script', script([look, { content: 'Done.' }], 'claude-sonnet-4-5')], {
    env: env(),
  })
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  await agent.request(methods.agent.session.prompt, { sessionId, prompt: say('go') })
  await agent.request(methods.agent.session.close, { sessionId })
  child.stdin?.end()
  expect(await exited()).toBe(0)
  expect(trees()).toEqual((await runsOf(sessionId, cwd)).map(treeOfRecord))
})

test('sends the complete run of a background agent below the call that started it', async () => {
  const agents = { finder: { description: 'finds', prompt: 'You find.', tools: ['Bash'], background: true } }
  const input = { description: 'find it', prompt: 'TASK-A', subagent_type: 'finder' }
  const replies = [
    { when: 'go', content: [call('Agent', input)] },
    { when: 'TASK-A', content: [call('Bash', { command: 'echo 8080' })] },
    { when: 'runs in the background as agent_', content: 'I wait.' },
    { when: '8080', content: 'It is 8080.' },
    { when: '<agent_result', content: 'Done.' },
  ]
  const flags = ['--allowedTools', 'Bash', '--output-format', 'stream-json', '--verbose']
  const more = ['--agents', JSON.stringify(agents), '--script', script(replies, 'claude-sonnet-4-5')]
  const { status, stdout } = await run(['-p', 'go', ...flags, ...more], { env: env() })
  expect([status, linesOf(stdout).at(-1)?.['result']]).toEqual([0, 'Done.'])
  const spans = spansOf(collector.received)
  const agent = spans.find(({ name }) => name === 'invoke_agent finder')
  const around = spans.find(({ spanId }) => spanId === agent?.parentSpanId)
  expect([around?.name, agent?.attributes['halting.agent.background']]).toEqual(['execute_tool Agent', true])
  expect(agent?.attributes).toMatchObject({
    'halting.terminal.reason': 'completed',
    'halting.agent.depth': 1n,
    'halting.turns': 2n,
  })
  const below = treesOf(spans, agent?.spanId).map(({ name, children }) => [name, ...children.map((each) => each.name)])
  expect(below).toEqual([
    ['halting.turn', 'chat claude-sonnet-4-5', 'execute_tool Bash'],
    ['halting.turn', 'chat claude-sonnet-4-5'],
  ])
  expect(spans.filter(({ attributes }) => attributes['halting.unfinished'] === true)).toEqual([])
})

test('sends a resumed run as a separate trace of the same conversation and run', async () => {
  const id = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'
  const begun = join(here(), 'begun')
  rmSync(begun, { force: true })
  const replies = [look, { content: [call('Bash', { command: `echo $$ > ${begun}; sleep 60` })] }]
  const flags = ['--session-id', id, '--allowedTools', 'Bash', '--script', script(replies, 'claude-sonnet-4-5')]
  // Each span is sent as it ends.
  const first = start(['-p', 'go', ...flags], { env: { ...env(), OTEL_BSP_SCHEDULE_DELAY: '1' } })
  const shell = Number(await waitForFileText(begun))
  while (spansOf(collector.received).filter(({ name }) => name.startsWith('chat')).length < 2)
    await new Promise((resolve) => setTimeout(resolve, 5))
  first.child.kill('SIGKILL')
  try {
    process.kill(-shell, 'SIGKILL')
  } catch {
    process.kill(shell, 'SIGKILL')
  }
  await first.ended
  const before = spansOf(collector.received)
  expect(before.map(({ name }) => name).toSorted()).toEqual([
    'chat claude-sonnet-4-5',
    'chat claude-sonnet-4-5',
    'execute_tool Bash',
    'halting.turn',
  ])
  collector.forget()
  const rest = script([{ expect: 'unknown', content: 'I looked.' }], 'claude-sonnet-4-5')
  const { status } = await run(['-p', '--resume', id, '--script', rest], { env: env() })
  expect(status).toBe(0)
  const after = spansOf(collector.received)
  expect(outOfPlace(after)).toEqual([])
  const [root] = treesOf(after)
  expect(root?.attributes).toMatchObject({
    'gen_ai.conversation.id': id,
    'halting.run.id': 'run1',
    'halting.run.resumed': true,
    'gen_ai.request.model': 'claude-sonnet-4-5',
    'halting.terminal.reason': 'completed',
  })
  expect(
    root?.children.map(({ name, children }) => [
      name,
      ...children.map((each) => [
        each.name,
        each.attributes['halting.tool.status'] ?? each.attributes['halting.outcome'],
      ]),
    ]),
  ).toEqual([
    ['halting.turn', ['execute_tool Bash', 'unknown']],
    ['halting.turn', ['chat claude-sonnet-4-5', 'answered']],
  ])
  // The calls of the record, each sent by one of the two processes.
  const calls = [...before, ...after].filter(({ name }) => name.startsWith('execute_tool'))
  expect(calls).toHaveLength(2)
})

test('sends what there is of a stopped run, with its ending', async () => {
  const begun = join(here(), 'stopped-run')
  const replies = [{ content: [call('Bash', { command: `echo $$ > ${begun}; sleep 60` })] }]
  const id = 'aaaaaaaa-bbbb-4ccc-8ddd-ffffffffffff'
  const flags = ['--session-id', id, '--allowedTools', 'Bash', '--script', script(replies, 'claude-sonnet-4-5')]
  const { child, ended } = start(['-p', 'go', ...flags], { env: env() })
  await waitForFileText(begun)
  child.kill('SIGTERM')
  expect((await ended).status).toBe(143)
  expect(trees()[0]?.attributes).toMatchObject({
    'halting.terminal.reason': 'aborted_tools',
    'halting.stop.message': 'Terminated (SIGTERM)',
  })
  expect(trees()).toEqual((await runsOf(id)).map(treeOfRecord))
})

test("sends the spans of a cluster's worker", async () => {
  const served = await servedCluster([look, { content: 'Done.' }], { allowedTools: ['Bash'] }, env())
  onTestFinished(() => served.close())
  const program = programInMemory({ cwd: here(), env: {} })
  program.stdin.end('')
  let err = ''
  const output = { ...program.output, err: (text: string) => void (err += text) }
  const flags = { print: true, cluster: served.url, admin: served.url }
  expect(await promptOnCluster(flags, ['go'], { ...program, output })).toBe(0)
  const sessionId = /session (\S+)/.exec(err)?.[1] ?? ''
  const records = await served.cluster.records(sessionId)
  await served.close()
  expect(trees()).toEqual([treeOfRecord(records)])
})

test('gives commands the span of their call, even in the background, and hides exporter headers from them and hooks', async () => {
  const cwd = join(here(), 'around')
  mkdirSync(cwd)
  const dump = (name: string): string => `env | sort > ${join(cwd, name)}`
  const settings = {
    hooks: { PostToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: dump('hook') }] }] },
  }
  const replies = [
    { content: [call('Bash', { command: dump('tool') })] },
    { content: [call('Bash', { command: dump('background'), run_in_background: true })] },
    { content: 'Done.' },
    { content: 'Done.' },
  ]
  const flags = ['--allowedTools', 'Bash', '--settings', JSON.stringify(settings), '--trust']
  const { status } = await run(['-p', 'go', ...flags, '--script', script(replies, 'claude-sonnet-4-5')], {
    cwd,
    env: {
      ...env(),
      OTEL_EXPORTER_OTLP_HEADERS: 'a=kestrel',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=kestrel',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'a=kestrel',
      OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'a=kestrel',
    },
  })
  expect(status).toBe(0)
  const said = (name: string): string => readFileSync(join(cwd, name), 'utf8')
  for (const name of ['tool', 'background', 'hook']) expect(said(name)).not.toContain('kestrel')
  const calls = spansOf(collector.received).filter(({ name }) => name === 'execute_tool Bash')
  const parents = ['tool', 'background'].map(
    (name) => /^TRACEPARENT=00-[\da-f]{32}-([\da-f]{16})-01$/m.exec(said(name))?.[1],
  )
  expect(parents).toEqual(calls.map(({ spanId }) => spanId))
})
