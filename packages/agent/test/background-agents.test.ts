// Holds rules of docs/spec: R-AGENT-1a, R-AGENT-11, R-BACK-13, R-JOUR-12b.
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { streamRun, resume, startRun, type RunOptions, type ModelRequest } from '@halting/core'
import { isToolResult, textOf, type SpawnContext } from '@halting/core/adapters'
import { backgroundControls } from '../src/agents/agent-texts.ts'
import { scriptedModel, transcriptProblems, type ScriptedReply } from '@halting/core/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  backgroundOf,
  createAgentTool,
  createBashTool,
  createPermissions,
  createReadTool,
  createTaskOutputTool,
  createTaskStopTool,
  openJournal,
  Workspace,
  type AgentDefinition,
  type AgentInput,
} from '../src/index.ts'
import { readJournal } from '@halting/journal'
import { agentsOfJson } from '../src/instructions/index.ts'
import { isDeep, sampled } from './support/deep.ts'
import { temporaryFolder } from './support/harness.ts'

let cwd = ''
beforeEach(() => {
  cwd = realpathSync(temporaryFolder())
})

const here: SpawnContext = { depth: 0, tools: ['Read', 'TaskOutput', 'TaskStop'], permissionMode: null }
const watcher: AgentDefinition = {
  name: 'watcher',
  description: 'Watches',
  prompt: 'You watch.',
  disallowedTools: [],
  level: 'user',
  background: true,
}
const spawned = (input: Partial<AgentInput>, context: Partial<SpawnContext> = {}) =>
  createAgentTool({ definitions: [watcher], mode: () => 'default' }).spawn(
    { prompt: 'look', ...input },
    { ...here, ...context },
  )

describe('the Agent tool', () => {
  test('starts an agent in the background when the call or its definition says so, and the call counts', () => {
    expect(spawned({})).not.toHaveProperty('background')
    expect(spawned({ run_in_background: true })).toMatchObject({
      background: true,
      note: backgroundControls({ hasTaskOutput: true, hasTaskStop: true }),
    })
    expect(spawned({ run_in_background: true }, { tools: ['Read'] })).toMatchObject({ background: true, note: '' })
    expect(spawned({ subagent_type: 'watcher' })).toMatchObject({ background: true })
    expect(spawned({ subagent_type: 'watcher', run_in_background: false })).not.toHaveProperty('background')
  })

  test('rejects a `background` that is not true or false', () => {
    const json = (background: unknown) => JSON.stringify({ a: { description: 'd', prompt: 'p', background } })
    expect(agentsOfJson(json(true), cwd)).toMatchObject([{ background: true }])
    expect(agentsOfJson(json(false), cwd)[0]).not.toHaveProperty('background')
    expect(() => agentsOfJson(json('often'), cwd)).toThrow('background must be true or false')
  })
})

const turnOf = ({ messages }: ModelRequest): number => messages.filter(({ role }) => role === 'assistant').length
const promptOf = ({ messages }: ModelRequest): string =>
  typeof messages[0]?.content === 'string' ? messages[0].content : ''
type Scripts = { readonly [prompt: string]: readonly ScriptedReply[] }
const asks = (...agents: readonly Partial<AgentInput>[]): ScriptedReply => ({
  toolCalls: agents.map((input) => ({ name: 'Agent', input: { run_in_background: true, ...input } })),
})
const uses = (name: string, input: object, text = ''): ScriptedReply => ({
  ...(text !== '' && { text }),
  toolCalls: [{ name, input }],
})

interface World {
  readonly workspace: Workspace
  readonly options: RunOptions
  readonly requests: () => readonly ModelRequest[]
}

function world(script: Scripts | ((request: ModelRequest) => ScriptedReply), more: Partial<RunOptions> = {}): World {
  const workspace = new Workspace({ cwd, env: { PATH: process.env['PATH'] ?? '' } })
  const allow = ['Bash(*)', 'TaskOutput', 'TaskStop']
  const permissions = createPermissions({
    cwd,
    whenAsked: 'deny',
    shellDirectory: () => workspace.shellDirectory,
    mode: 'bypassPermissions',
    allow,
  })
  const model = scriptedModel((request) =>
    typeof script === 'function' ? script(request) : (script[promptOf(request)]?.[turnOf(request)] ?? 'end'),
  )
  const tools = [
    createReadTool(workspace),
    createBashTool(workspace),
    createTaskOutputTool(workspace),
    createTaskStopTool(workspace),
    createAgentTool({ mode: () => permissions.mode }),
  ]
  return { workspace, options: { model, tools, permissions, ...more }, requests: () => model.requests }
}

/** The last request of the main loop, as text. */
const lastRequestOf = (made: World, prompt: string): string => {
  const last = made.requests().findLast((request) => promptOf(request) === prompt)
  return (last?.messages ?? [])
    .flatMap(({ role, content }) => {
      if (role !== 'user' || typeof content === 'string') return []
      return content.map((block) => (isToolResult(block) ? JSON.stringify(block.content) : textOf([block])))
    })
    .join('\n')
}

const idIn = (request: ModelRequest): string => /agent_\w+/.exec(JSON.stringify(request.messages))?.[0] ?? ''

describe('a background agent', () => {
  test('is shown by TaskOutput and stopped by TaskStop; the loop reports its end', async () => {
    const made = world((request) => {
      const turn = turnOf(request)
      if (promptOf(request) === 'a')
        return turn === 0
          ? uses('Bash', { command: 'touch begun' }, 'I begin')
          : uses('Bash', { command: 'sleep 1000' })
      const steps: readonly ScriptedReply[] = [
        asks({ prompt: 'a', description: 'a long watch' }),
        uses('Bash', { command: 'while [ ! -e begun ]; do sleep 0.02; done' }),
        uses('TaskOutput', { task_id: idIn(request), block: false }),
        uses('TaskOutput', { task_id: idIn(request), timeout: 10 }),
        uses('TaskStop', { task_id: idIn(request) }),
        uses('TaskOutput', { task_id: idIn(request) }),
        uses('TaskStop', { task_id: 'agent_none' }),
      ]
      return steps[turn] ?? 'done'
    })
    const { terminal } = await streamRun(startRun({ prompt: 'go' }), made.options).ended
    await made.workspace.dispose()
    expect(terminal.reason).toBe('completed')
    const request = lastRequestOf(made, 'go')
    expect(request).toContain('Still working.\\nI begin')
    expect(request).toMatch(/Stopped agent_\w+ \(The agent general-purpose \(a long watch\)\)/)
    expect(request).toMatch(/\[agent_\w+\] The agent general-purpose \(a long watch\) was stopped\./)
    expect(request).toContain('Its last output:\n\nI begin')
    expect(request).toContain('Ended.\\nYou receive its result with the notice that it ended.')
    expect(request).toMatch(/There is no task agent_none\. Known tasks: agent_\w+\./)
  })

  test.each(['stop', 'keep'] as const)('is stopped at the end of the run with the policy %s', async (atEnd) => {
    const made = world({ go: [asks({ prompt: 'a' }), 'done'], a: [uses('Bash', { command: 'sleep 1000' })] })
    const background = backgroundOf(made.workspace, { atEnd })
    const { state } = await streamRun(startRun({ prompt: 'go' }), { ...made.options, background }).ended
    await made.workspace.dispose()
    expect(lastRequestOf(made, 'go')).toContain('It is stopped when the run ends.')
    const notes = state.transcript.since(0).flatMap((entry) => (entry.kind === 'attachment' ? (entry.tasks ?? []) : []))
    expect(notes).toMatchObject([{ type: 'left', how: 'stopped', description: 'The agent general-purpose' }])
    expect(state.spent.openAgents).toBeUndefined()
  })

  test('works in parallel to background commands, and both are awaited', async () => {
    const made = world({
      go: [
        { toolCalls: [{ name: 'Bash', input: { command: 'sleep 0.1', run_in_background: true } }] },
        asks({ prompt: 'a' }),
        'waiting',
        'one of them ended',
        'both have',
      ],
      a: [uses('Bash', { command: 'sleep 0.3' }), 'a is done'],
    })
    const background = backgroundOf(made.workspace)
    const { terminal } = await streamRun(startRun({ prompt: 'go' }), { ...made.options, background }).ended
    await made.workspace.dispose()
    expect(terminal.reason).toBe('completed')
    expect(lastRequestOf(made, 'go')).toMatch(/\[bash_1\] The command "sleep 0.1" ended with exit code 0/)
    expect(lastRequestOf(made, 'go')).toContain('a is done')
  })
})

test('a stored session killed at any line resumes inside its background agents', async () => {
  const sessionId = '11111111-2222-4333-8444-555555555555'
  // Enough for a fold after each turn, if none worked in the background.
  const long = 'x'.repeat(140_000)
  const scripts: Scripts = {
    go: [
      asks({ prompt: 'a' }),
      uses('Read', { file_path: join(cwd, 'none') }, long),
      uses('Bash', { command: 'while [ ! -e log ]; do sleep 0.01; done' }, long),
      uses('Read', { file_path: join(cwd, 'none') }, long),
      'waiting',
      'done',
    ],
    a: [
      uses('Bash', { command: 'echo once >> log' }),
      uses('Bash', { command: 'echo again >> log; sleep 0.05' }),
      'a has it',
    ],
  }
  const place = (name: string) => ({ path: join(cwd, `${name}.jsonl`), sessionId, cwd, version: '0.1.0' })
  const log = () =>
    existsSync(join(cwd, 'log')) ? readFileSync(join(cwd, 'log'), 'utf8').split('\n').filter(Boolean) : []

  const whole = await openJournal(place('whole'))
  const first = world(scripts)
  await streamRun(startRun({ prompt: 'go', sessionId }), { ...first.options, steps: whole.steps() }).result
  await whole.close()
  await first.workspace.dispose()
  expect(lastRequestOf(first, 'go')).toContain('a has it')
  expect(log()).toEqual(['once', 'again'])
  const lines = readFileSync(place('whole').path, 'utf8').trimEnd().split('\n')
  const isLap = (line: string): boolean => line.includes('"type":"lap"') && line.includes('"openAgents":[{')
  expect(lines.filter(isLap).length).toBeGreaterThan(0)
  let kills = 0
  // Each line if everything is tried; otherwise others whenever the session differs.
  for (const length of sampled([...lines.keys()].slice(3), { deep: 1, quick: 4 })) {
    const before = lines.slice(0, length).join('\n')
    // What the recorded commands had done.
    const done = ['once', 'again'].filter((word) => new RegExp(`echo ${word} `).test(before))
    rmSync(join(cwd, 'log'), { force: true })
    writeFileSync(place('cut').path, `${before}\n`)
    const journal = await openJournal(place('cut'))
    const { open } = journal
    const { runs } = await readJournal(place('cut').path)
    const results = runs.flat().flatMap((record) => (record.type === 'result' ? [record.key] : []))
    const ran = results.filter((key) => /agent:.*tool:/.test(key)).length
    if (ran > 0) writeFileSync(join(cwd, 'log'), `${done.slice(0, ran).join('\n')}\n`)
    if (open === undefined) {
      await journal.close()
      continue
    }
    const again = world(scripts)
    // A call with unknown outcome leaves nothing to wait for.
    if (!existsSync(join(cwd, 'log')) && done.length > 0) writeFileSync(join(cwd, 'log'), '')
    const { terminal, state } = await resume(open, again.options, journal.transcript, journal.log).loop.ended
    await journal.close()
    await again.workspace.dispose()
    expect([length, terminal.reason, transcriptProblems(state.transcript.messages())]).toEqual([
      length,
      'completed',
      [],
    ])
    // Nothing on record runs again, and the agent's task is not requested again.
    for (const word of ['once', 'again'])
      expect([length, word, log().filter((line) => line === word).length <= 1]).toEqual([length, word, true])
    const answered = results.filter((key) => /agent:.*model:/.test(key)).length
    const asked = again.requests().filter((request) => promptOf(request) === 'a').length
    expect([length, answered + asked]).toEqual([length, 3])
    expect([length, JSON.stringify(state.transcript.messages())]).toEqual([length, expect.stringContaining('a has it')])
    kills++
  }
  expect(kills).toBeGreaterThan(isDeep ? 15 : 3)
}, 120_000)
