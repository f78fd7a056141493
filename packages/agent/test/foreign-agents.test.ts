// Holds R-AGENT-3a to R-AGENT-3e of docs/spec: agents that were written for other programs load, and never have more than their file allows.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChildRun } from '@halting/core'
import type { SpawnContext } from '@halting/core/adapters'
import { scriptedModel } from '@halting/core/testing'
import { describe, expect, test } from 'vitest'
import { createAgentTool } from '../src/agents/agent-tool.ts'
import type { AgentDefinition } from '../src/agents/definition.ts'
import { agentsOfJson, readAgentDefinitions } from '../src/agents/read-definitions.ts'
import { temporaryFolder } from './support/harness.ts'

/** The agent of a file with these fields, and its notes. */
async function read(fields: string, body = 'Do it.') {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, '.claude/agents'), { recursive: true })
  const path = join(cwd, '.claude/agents/a.md')
  writeFileSync(path, `---\n${fields}\n---\n${body}\n`)
  const { all, notes } = await readAgentDefinitions({
    cwd,
    home: join(cwd, 'home'),
    env: {},
    mayRead: () => true,
    trust: { lets: async () => true },
  })
  return { agent: all[0], notes: notes.map((note) => note.replace(`${path}: `, '').replace(`${path} `, '')) }
}

const here: SpawnContext = { depth: 0, tools: ['Read', 'Edit', 'Write', 'Bash', 'Agent'], permissionMode: null }

function spawned(agent: AgentDefinition, others: readonly AgentDefinition[] = []): ChildRun {
  const models = new Map(['haiku', 'fable'].map((name) => [name, scriptedModel([])]))
  const tool = createAgentTool({ definitions: [agent, ...others], mode: () => 'default', models })
  return tool.spawn({ prompt: 'look', subagent_type: agent.name }, here)
}

function found(agent: AgentDefinition | undefined): AgentDefinition {
  if (agent === undefined) throw new Error('it is not a valid agent')
  return agent
}

const other = (name: string): AgentDefinition => ({
  name,
  description: 'd',
  prompt: 'p',
  disallowedTools: [],
  level: 'user',
})

describe('tools with something in parentheses', () => {
  test('Agent(name) allows starting these agents and no others', async () => {
    const { agent, notes } = await read('name: a\ndescription: d\ntools: Read, Agent(worker, reader), Task(last)')
    expect([agent, notes]).toMatchObject([
      { tools: ['Read', 'Agent', 'Agent'], startsOnly: ['worker', 'reader', 'last'] },
      [],
    ])
    const child = spawned(found(agent), ['worker', 'reader', 'last', 'other'].map(other))
    expect(child.tools).toEqual(['Read', 'Agent'])
    expect(child.permissionUpdates).toEqual([
      {
        type: 'addRules',
        behavior: 'deny',
        destination: 'session',
        rules: ['general-purpose', 'a', 'other'].map((ruleContent) => ({ toolName: 'Agent', ruleContent })),
      },
    ])
  })

  test.each([
    [
      'Read, Workflow(deploy)',
      ['Read'],
      'Workflow(deploy) in tools is not supported: the agent does not get Workflow.',
    ],
    ['Read, Bash(git diff:*)', ['Read'], 'Bash(git diff:*) in tools is not supported: the agent does not get Bash.'],
  ])('%s: omits a tool that it has only in part', async (tools, has, note) => {
    const { agent, notes } = await read(`name: a\ndescription: d\ntools: ${tools}`)
    expect([spawned(found(agent)).tools, notes]).toEqual([has, [note]])
  })
})

describe('hooks, which are not called', () => {
  test.each<[string, readonly string[], string]>([
    [
      'PreToolUse:\n    - matcher: "Edit|Write"\n      hooks:\n        - type: command\n          command: ./check.sh',
      ['Read', 'Bash', 'Agent'],
      'The agent does not get the tools that its PreToolUse hooks guard (Edit|Write).',
    ],
    [
      'PreToolUse:\n  - matcher: Bash\n    hooks: []\n  - matcher: ^Ed # a comment\n    hooks: []',
      ['Read', 'Write', 'Agent'],
      'guard (Bash, ^Ed).',
    ],
    ['preToolUse:\n    - matcher: Bash', ['Read', 'Edit', 'Write', 'Agent'], 'guard (Bash).'],
    ['PostToolUse:\n    - matcher: Edit\n      hooks: []\n  Stop:\n    - hooks: []', here.tools, 'are not supported.'],
    ['pre: |\n    echo start\n  post: |\n    echo end', here.tools, 'hooks: unknown event pre.'],
    [
      'PreToolUse: &guards\n    - &edits {matcher: Edit, hooks: []}\n    - *edits',
      ['Read', 'Write', 'Bash', 'Agent'],
      'guard (Edit, Edit).',
    ],
    ['PreToolUse: [{matcher: Bash}]', ['Read', 'Edit', 'Write', 'Agent'], 'guard (Bash).'],
    ['PreToolUse:\n    - matcher: |\n        Bash', ['Read', 'Edit', 'Write', 'Agent'], 'guard (Bash).'],
    ['stop: x', here.tools, 'hooks: unknown event stop. Did you mean Stop?'],
  ])('%j', async (hooks, tools, note) => {
    const { agent, notes } = await read(`name: a\ndescription: d\nhooks:\n  ${hooks}\nmodel: haiku`)
    expect([spawned(found(agent)).tools, found(agent).model]).toEqual([tools, 'haiku'])
    expect(notes.join(' ')).toContain(note)
  })

  test.each([
    'hooks:\n  PreToolUse:\n    - hooks: []',
    'hooks:\n  PreToolUse:\n    - matcher: Bash\n    - hooks: []',
    'hooks:\n  PreToolUse:\n    - matcher: ""',
    'hooks: all',
    'hooks: [PreToolUse]',
    'hooks:\n  PreToolUse: Bash',
    'hooks:\n  PreToolUse:\n    - Bash',
  ])('%j may guard any tool: the agent gets none, and says so when it is started', async (hooks) => {
    const { agent } = await read(`name: a\ndescription: d\n${hooks}`)
    expect(() => spawned(found(agent))).toThrow('these hooks do not run for agents')
  })

  test('works the same for --agents', () => {
    const hooks = { PreToolUse: [{ matcher: 'Bash', hooks: [] }] }
    const [agent] = agentsOfJson(JSON.stringify({ a: { description: 'd', prompt: 'p', hooks } }), '/')
    expect(spawned(found(agent)).tools).toEqual(['Read', 'Edit', 'Write', 'Agent'])
    const [unread] = agentsOfJson(JSON.stringify({ a: { description: 'd', prompt: 'p', hooks: 'all' } }), '/')
    expect(() => spawned(found(unread))).toThrow('would have no tools')
  })
})

describe('a description', () => {
  test('continues in examples and lines without indentation', async () => {
    const example = '<example>\nContext: a change\nuser: "tools: all"\nuser: "again"\n</example>'
    const { agent, notes } = await read(`name: a\ndescription: Use it.\n${example}\nand more\ntools: Read`)
    expect(agent).toMatchObject({ tools: ['Read'] })
    expect(found(agent).description).toContain('Use it. <example> Context: a change')
    expect(notes).toEqual([])
  })

  test.each(['tools Read', 'permission-mode = plan', 'hooks;'])(
    'does not contain %j, which may be a field',
    async (line) => {
      const { agent, notes } = await read(`name: a\ndescription: d\n${line}`)
      expect([agent, notes.join()]).toEqual([undefined, expect.stringContaining('is not a valid agent')])
    },
  )

  test('with an unclosed example swallows no field', async () => {
    const { agent } = await read('name: a\ndescription: d\n<example>\nand so on\ntools: Read')
    expect(agent).toMatchObject({ tools: ['Read'] })
  })

  test('defaults to the first line of the text', async () => {
    const { agent, notes } = await read('name: a\ntype: analyst', '# Finds bugs\n\nAll of them.')
    expect([found(agent).description, notes.at(-1)]).toEqual([
      'Finds bugs',
      'it has no description. The first line of its text is used.',
    ])
  })
})

describe('readonly, a field of other programs', () => {
  test.each([
    ['readonly: true', 'plan'],
    ['readonly: "true" # no writes', 'plan'],
    ['permissionMode: acceptEdits\nreadonly: true', 'plan'],
    ['readonly: false\npermissionMode: dontAsk', 'dontAsk'],
    ['readonly: false', undefined],
    ['readonly:', undefined],
  ])('%j', async (fields, mode) => {
    const { agent, notes } = await read(`name: a\ndescription: d\n${fields}`)
    expect([found(agent).permissionMode, spawned(found(agent)).permissionMode, notes]).toEqual([mode, mode, []])
  })

  test.each(['readonly: yes', 'read-only: true', 'read_only: true'])('%j makes the file invalid', async (fields) => {
    const { agent, notes } = await read(`description: d\n${fields}`)
    expect([agent, notes.join()]).toEqual([undefined, expect.stringContaining('is not a valid agent')])
  })

  test('works the same for --agents', () => {
    const definition = { description: 'd', prompt: 'p', readonly: true }
    expect(agentsOfJson(JSON.stringify({ a: definition }), '/')[0]?.permissionMode).toBe('plan')
    const odd = JSON.stringify({ a: { ...definition, readonly: 'all' } })
    expect(() => agentsOfJson(odd, '/')).toThrow('readonly must be true or false')
  })
})

test('unsupported fields that change what an agent does are reported, and it works', async () => {
  const fields = 'model: fable\neffort: high\nskills:\n  - pdf\n  - release\nmcpServers:\n  - slack\nmemory: user'
  const { agent, notes } = await read(`name: Code Reviewer\ndescription: d\n${fields}`)
  expect(agent).toMatchObject({ name: 'Code Reviewer', model: 'fable' })
  expect(spawned(found(agent)).tools).toEqual(here.tools)
  expect(notes).toEqual(['mcpServers, skills, memory, effort of an agent is not supported. Ignored.'])
})
