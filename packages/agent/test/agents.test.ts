// Holds rules of docs/spec: R-AGENT-1 to R-AGENT-9.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { streamRun, resume, startRun, type RunOptions, type ModelRequest } from '@halting/core'
import { isAgentTool, isToolResult, type SpawnContext } from '@halting/core/adapters'
import { scriptedModel, transcriptProblems, type ScriptedReply } from '@halting/core/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import * as texts from '../src/agents/agent-texts.ts'
import { modeOfAgent } from '../src/agents/mode-of-agent.ts'
import { sessionAgents } from '../src/agents/session-agents.ts'
import { matches } from '../src/hooks/matcher.ts'
import {
  createAgentTool,
  createBashTool,
  createGlobTool,
  createGrepTool,
  createPermissions,
  createReadTool,
  createWriteTool,
  generalAgent,
  hasAgents,
  openJournal,
  permissionModes,
  Workspace,
  type AgentDefinition,
  type AgentInput,
  type RulePermissions,
  type Sandbox,
} from '../src/index.ts'
import {
  agentsOfJson,
  createSkillTool,
  skillList,
  readAgentDefinitions,
  projectFileOffers,
  type PromptFile,
} from '../src/instructions/index.ts'
import type { DescribedSandbox } from '@halting/policy'
import { expandPromptFile } from '../src/instructions/expand-prompt-file.ts'

let home = ''
let cwd = ''
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'halting-agents-')))
  cwd = join(home, 'app')
  mkdirSync(cwd)
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function put(path: string, text: string): string {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}
const agentFile = (fields: string, body = 'Do it.'): string => `---\n${fields}\n---\n${body}\n`
const places = () => ({ cwd, home, env: {}, mayRead: () => true })
const trusted = { lets: async () => true }
const untrusted = { lets: async () => false }

const definition = (more: Partial<AgentDefinition> = {}): AgentDefinition => ({
  name: 'reviewer',
  description: 'Reviews',
  prompt: 'You review.',
  disallowedTools: [],
  level: 'user',
  ...more,
})
const touchy: PromptFile = {
    kind: 'skill', name: 'touchy', level: 'user', path: '/SKILL.md', description: '', argumentHint: '', model: '',
    allowedTools: [], isForPerson: false, isForModel: true, body: 'Now !`echo x > by-skill.txt; cd sub`.',
  } // prettier-ignore

const here: SpawnContext = {
  depth: 0,
  tools: ['Read', 'Edit', 'Bash', 'AskUserQuestion', 'ExitPlanMode', 'Agent', 'mcp__git__log', 'mcp__web__get'],
  permissionMode: null,
}
const spawned = (
  definitions: readonly AgentDefinition[],
  input: Partial<AgentInput> = { subagent_type: 'reviewer' },
  context: Partial<SpawnContext> = {},
) =>
  createAgentTool({ definitions, mode: () => 'default', surroundings: 'Working directory: /w' }).spawn(
    { prompt: 'look', ...input },
    { ...here, ...context },
  )

describe('the Agent tool', () => {
  test('starts the general agent by default, with all tools except those that ask the user of the session', () => {
    const child = spawned([], {})
    expect(child).toMatchObject({ prompt: 'look', agentType: 'general-purpose' })
    expect(child.tools).toEqual(['Read', 'Edit', 'Bash', 'Agent', 'mcp__git__log', 'mcp__web__get'])
    expect(child.system).toContain('Working directory: /w')
    expect(child).not.toHaveProperty('permissionMode')
    expect(child).not.toHaveProperty('model')
  })

  test.each<[string, Partial<AgentDefinition>, readonly string[]]>([
    ['tools', { tools: ['Read', 'Bash', 'WebSearch'] }, ['Read', 'Bash']],
    ['all of a server', { tools: ['mcp__git'] }, ['mcp__git__log']],
    ['a pattern of a server', { tools: ['mcp__web__*'] }, ['mcp__web__get']],
    ['all', { tools: ['*'], disallowedTools: ['Bash', 'mcp__git', 'Agent'] }, ['Read', 'Edit', 'mcp__web__get']],
    ['none', { tools: [] }, []],
  ])('gives an agent %s of the tools of its parent', (_what, more, tools) => {
    expect(spawned([definition(more)]).tools).toEqual(tools)
  })

  test.each<[Partial<AgentDefinition>, readonly string[]]>([
    [{ tools: ['Read', 'Edit'] }, ['Read', 'apply_patch']],
    [{ tools: ['Write'] }, ['apply_patch']],
    [{ tools: ['Read'] }, ['Read']],
    [{ disallowedTools: ['Edit'] }, ['Read']],
    [{ disallowedTools: ['Write'] }, ['Read', 'apply_patch']],
    [{ guards: ['Edit|Write'] }, ['Read']],
  ])('offers apply_patch where it replaces Edit and Write: %j (R-PATCH-2a)', (more, tools) => {
    expect(spawned([definition(more)], undefined, { tools: ['Read', 'apply_patch'] }).tools).toEqual(tools)
  })

  test('rejects an agent without any of its tools, and an unknown one', () => {
    expect(() => spawned([definition({ tools: ['WebSearch'] })])).toThrow('none of WebSearch is available here')
    expect(() => spawned([definition()], { subagent_type: 'rewiever' })).toThrow(
      texts.unknownAgent('rewiever', 'general-purpose, reviewer'),
    )
  })

  test.each([
    [{ disallowedTools: ['bash'] }, texts.misspelledTool('disallowedTools', 'reviewer', 'bash', 'Bash')],
    [{ tools: ['Read', 'edit'] }, texts.misspelledTool('tools', 'reviewer', 'edit', 'Edit')],
  ])('rejects an agent that names a tool in other capitals: %j', (more, message) => {
    expect(() => spawned([definition(more)])).toThrow(message)
  })

  test('gives an agent its prompt, its maximum number of turns and its rules', () => {
    const strict = definition({ maxTurns: 4, disallowedTools: ['Bash(git push:*)', 'Edit'] })
    expect(spawned([strict])).toMatchObject({
      system: expect.stringMatching(/^You review\.\n\n/),
      maxTurns: 4,
      permissionUpdates: [
        { type: 'addRules', behavior: 'deny', rules: [{ toolName: 'Bash', ruleContent: 'git push:*' }] },
      ],
    })
  })

  test('never truncates a description in the middle of a character, since services refuse requests with half a character', () => {
    const long = definition({ description: `${'x'.repeat(499)}\u{1F600} and more` })
    const { description } = createAgentTool({ definitions: [long], mode: () => 'default' })
    expect(description).not.toMatch(/\p{Cs}/u)
    expect(skillList([{ ...touchy, description: `${'x'.repeat(299)}\u{1F600}` }])).not.toMatch(/\p{Cs}/u)
  })

  test('gives an agent its own limits', () => {
    const limits = { maxBudgetUsd: 0.5, maxTotalTokens: 100_000, maxDurationMs: 600_000 }
    expect(spawned([definition(limits)])).toMatchObject(limits)
    const former = { ...definition(), maxTokens: 100_000 }
    expect(() => spawned([former])).toThrow('maxTokens of the agent reviewer is called maxTotalTokens.')
  })

  test('uses only models that users named', () => {
    const [small, large] = [scriptedModel([], { id: 'claude-haiku' }), scriptedModel([], { id: 'large' })]
    const models = new Map([
      ['haiku', small],
      ['large', large],
    ])
    const tool = createAgentTool({ definitions: [definition({ model: 'haiku' })], mode: () => 'default', models })
    const modelOf = (input: Partial<AgentInput>) => tool.spawn({ prompt: 'look', ...input }, here).model
    expect(modelOf({ subagent_type: 'reviewer' })).toBe('claude-haiku')
    expect(modelOf({ subagent_type: 'reviewer', model: 'large' })).toBe('large')
    expect(modelOf({ subagent_type: 'reviewer', model: 'inherit' })).toBeUndefined()
    expect(modelOf({})).toBeUndefined()
    expect(() => modelOf({ model: 'opus' })).toThrow(texts.unknownModel('opus', ['haiku', 'large']))
    expect(tool.models).toEqual([small, large])
  })

  test('lists the agents within bounds, and accepts an input whose meaning is clear', () => {
    const many = Array.from({ length: 300 }, (_, index) =>
      definition({ name: `agent-${index}`, description: 'x'.repeat(2_000) }),
    )
    const tool = createAgentTool({ definitions: many, mode: () => 'default' })
    expect(tool.description.length).toBeLessThan(16_000)
    expect(tool.description).toContain('- agent-299')
    const longNames = many.map((each, index) => ({ ...each, name: `${'n'.repeat(90)}-${index}` }))
    const long = createAgentTool({ definitions: longNames, mode: () => 'default' })
    expect(long.description.length).toBeLessThan(20_000)
    expect(long.description).toMatch(/\n\(and 2\d\d more\)$/)
    expect(() => long.spawn({ prompt: 'p', subagent_type: 'no' }, here)).toThrow(/^.{1,9000}$/s)
    expect(tool.validate?.({ prompt: 'look', run_in_background: 'true' })).toMatchObject({
      valid: true,
      input: { run_in_background: true },
    })
    expect(tool.validate?.({ prompt: '' })).toMatchObject({ valid: false })
  })
})

test('R-SECRET-1: redacts secrets in agent definitions for the model', async () => {
  const workspace = new Workspace({ cwd })
  workspace.redact = (text) => text.replaceAll('hunter2', '[secret]')
  const { tool } = await sessionAgents({
    places: places(),
    workspace,
    permissions: createPermissions({ cwd }),
    trustedBy: undefined,
    programAgents: [definition({ description: 'Has hunter2', prompt: 'The key is hunter2.' })],
    models: [],
    modelNamed: () => scriptedModel([]),
    instructions: '',
  })
  const child = isAgentTool(tool) ? tool.spawn({ prompt: 'look', subagent_type: 'reviewer' } as never, here) : undefined
  expect(tool.description).toContain('- reviewer: Has [secret]')
  expect(child?.system).toMatch(/^The key is \[secret\]\./)
})

test("never makes an agent looser than its parent, except for edits that the user's own definition allows", () => {
  const order = ['plan', 'dontAsk', 'default', 'acceptEdits', 'bypassPermissions'] as const
  const looser: unknown[] = []
  const ignored: unknown[] = []
  for (const level of ['built-in', 'project', 'user', 'flag'] as const)
    for (const parent of permissionModes)
      for (const permissionMode of permissionModes) {
        const mode = modeOfAgent({ permissionMode, level }, parent) ?? parent
        if (order.indexOf(mode) > order.indexOf(parent)) looser.push([level, parent, mode])
        if (order.indexOf(permissionMode) < order.indexOf(parent) && mode !== permissionMode)
          ignored.push(permissionMode)
      }
  expect(looser).toEqual([
    ['user', 'default', 'acceptEdits'],
    ['flag', 'default', 'acceptEdits'],
  ])
  expect(ignored).toEqual([])
  // The mode of an agent applies to agents that it starts.
  const wanted = definition({ permissionMode: 'acceptEdits' })
  expect(spawned([wanted]).permissionMode).toBe('acceptEdits')
  expect(spawned([wanted], undefined, { permissionMode: 'plan' })).not.toHaveProperty('permissionMode')
})

describe('definitions in files', () => {
  test('are found in folders of the project and the user, the nearer one first', async () => {
    expect(hasAgents(places())).toBe(false)
    put('app/.claude/agents/deep/reviewer.md', agentFile('name: reviewer\ndescription: of the project'))
    put('app/.halting/agents/planner.md', agentFile('description: ours\ntools: Read, mcp__git\nmaxTurns: 3'))
    put('app/.claude/agents/planner.md', agentFile('name: planner\ndescription: theirs'))
    put('.claude/agents/reviewer.md', agentFile('name: reviewer\ndescription: of the person'))
    put(
      '.halting/agents/writer.md',
      agentFile(
        'name: writer\ndescription: writes\npermissionMode: acceptEdits\ndisallowedTools: Task, Bash(rm *)\nmodel: inherit',
      ),
    )
    expect(hasAgents(places())).toBe(true)
    const { all, notes } = await readAgentDefinitions({ ...places(), trust: trusted })
    expect(notes).toEqual([])
    expect(all.map(({ name, description, level }) => [name, description, level])).toEqual([
      ['planner', 'ours', 'project'],
      ['reviewer', 'of the project', 'project'],
      ['writer', 'writes', 'user'],
    ])
    expect(all[0]).toMatchObject({ prompt: 'Do it.', tools: ['Read', 'mcp__git'], maxTurns: 3, disallowedTools: [] })
    expect(all[2]).toMatchObject({ permissionMode: 'acceptEdits', disallowedTools: ['Agent', 'Bash(rm *)'] })
    expect(all[2]).not.toHaveProperty('model')
  })

  test('of an untrusted project replace no other definition, and choose no model', async () => {
    const own = put('.claude/agents/reviewer.md', agentFile('name: reviewer\ndescription: of the person\ntools: Read'))
    const taken = put('app/.claude/agents/reviewer.md', agentFile('name: reviewer\ndescription: of the project'))
    const general = put('app/.claude/agents/g.md', agentFile('name: general-purpose\ndescription: taken'))
    const dear = put('app/.claude/agents/dear.md', agentFile('name: dear\ndescription: costs\nmodel: opus'))
    const { all, notes } = await readAgentDefinitions({ ...places(), trust: untrusted })
    expect(all.map(({ name, path, model }) => [name, path, model])).toEqual([
      ['dear', dear, undefined],
      ['reviewer', own, undefined],
    ])
    expect(notes).toEqual([
      expect.stringContaining(`model: opus in ${dear} does not count`),
      expect.stringContaining(`${general} does not count: its name is that of an agent of your own`),
      expect.stringContaining(`${taken} does not count`),
    ])
    // What the user is asked about when they trust the folder.
    expect((await projectFileOffers(places())).map(({ setting, text }) => [setting, text])).toEqual([
      ['agents', `model: opus in ${dear}`],
      ['agents', `in place of your agent general-purpose: ${general}`],
      ['agents', `in place of your agent reviewer: ${taken}`],
    ])
  })

  test('that are broken are reported, and the others are used', async () => {
    const broken: readonly (readonly [file: string, text: string, why: string])[] = [
      ['README.md', 'About these agents', 'it has no header above its text'],
      ['empty.md', agentFile('name: empty\ndescription: d', ' '), 'it has no prompt'],
      ['listed.md', agentFile('name: a, b\ndescription: d'), 'its name has characters'],
      ['mode.md', agentFile('name: m\ndescription: d\npermissionMode: yolo'), 'permissionMode must be one of'],
      ['turns.md', agentFile('name: t\ndescription: d\nmaxTurns: many'), 'maxTurns must be a whole number'],
      [
        'free.md',
        agentFile('name: f\ndescription: d\nmaxBudgetUsd: 0'),
        'maxBudgetUsd must be a number of dollars above 0',
      ],
      ['words.md', agentFile('name: w\ndescription: d\nmaxTokens: 1.5'), 'maxTokens must be a whole number'],
      ['time.md', agentFile('name: t\ndescription: d\nmaxDuration: 10'), 'maxDuration must be a time with its unit'],
      ['half.md', agentFile('name: h\ndescription: d\ntools: Bash(git log'), 'Bash(git log is not one'],
      ['deny.md', agentFile('name: d\ndescription: d\ndisallowedTools: Bash(a:*b)'), 'in disallowedTools'],
      ['binary.md', 'a\0b', 'it is no text'],
      ['long.md', agentFile('name: l\ndescription: d', 'x'.repeat(300_000)), 'it is longer than'],
    ]
    for (const [file, text] of broken) put(`app/.claude/agents/${file}`, text)
    const outside = put('elsewhere/out.md', agentFile('name: out\ndescription: d'))
    symlinkSync(outside, join(cwd, '.claude/agents/out.md'))
    put('app/.claude/agents/secret.md', agentFile('name: secret\ndescription: d'))
    put('app/.claude/agents/good.md', agentFile('name: good\ndescription: d\nhooks: x\ncolor: red'))
    const { all, notes } = await readAgentDefinitions({
      ...places(),
      mayRead: (path) => !path.endsWith('secret.md'),
      trust: trusted,
    })
    expect(all.map(({ name }) => name)).toEqual(['good'])
    for (const [file, , why] of [
      ...broken,
      ['out.md', '', 'a symbolic link that leaves'],
      ['secret.md', '', 'rule denies'],
    ])
      expect(notes.filter((note) => note.includes(`/${file} `)).join()).toContain(why)
    expect(notes.find((note) => note.includes('good.md'))).toContain('so the agent gets no tools')
    expect(notes).toHaveLength(broken.length + 3)
  })

  test.each([
    ['tools:Read', 'cannot parse the line "tools:Read"'],
    ['  tools: Read', 'cannot parse the line "description: d"'],
    ['tools:\n- Read\n-Bash', 'cannot parse the line "-Bash"'],
    ['tools: Read\ntools: Bash', 'the field tools is given twice'],
    ['tools: {Read: true}', 'tools must contain tool names, and {"Read":"true"} is not one'],
    ['tools: *all', 'tools must contain tool names, and *all is not one'],
    ['hooks:\n\tPreToolUse:\n\t\t- matcher: Bash', 'cannot parse the line "\\tPreToolUse:"'],
    ['tools: [Read, Bash', 'cannot parse the line "tools: [Read, Bash"'],
    [`tools: ${'['.repeat(200)}`, 'its header is nested too deeply'],
    ['disallowedTools: Bash\ndisallowedtools: Read', 'the field disallowedtools is given twice'],
    ['"disallowedTools ": Bash\ndisallowedtools: Read', 'the field disallowedtools is given twice'],
    ['color: &t tools\ntools: Read\n*t : Bash', 'the name of a field is not a text'],
    ['disallowedTools: !Bash', 'has the unknown tag "!Bash"'],
    ['disallowedTools: &Bash', 'has nothing at the anchor "&Bash"'],
    ['disallowedTools: Bash(a: b),\n# why\n  Write', 'cannot parse the line "disallowedTools: Bash(a: b),"'],
    ['tools: &a [*a]', 'an alias refers to nothing, or to too much'],
    ['disallowed-tools: Bash', 'disallowed-tools is not a field of an agent. Use disallowedTools'],
    ['disallowedTool: Bash', 'disallowedtool is not a field of an agent. Use disallowedTools'],
    ['allowed-tools: Read', 'allowed-tools is not a field of an agent. Use tools'],
    ['permission_mode: plan', 'permission_mode is not a field of an agent. Use permissionMode'],
    ['max_turns: 3', 'max_turns is not a field of an agent. Use maxTurns'],
  ])('R-AGENT-3a: the line %j makes an agent invalid', async (line, why) => {
    put('app/.claude/agents/a.md', agentFile(`name: a\ndescription: d\n${line}`))
    const { all, notes } = await readAgentDefinitions({ ...places(), trust: trusted })
    expect(all).toEqual([])
    expect(notes).toEqual([`${join(cwd, '.claude/agents/a.md')} is not a valid agent: ${why}.`])
  })

  test('R-AGENT-3a: hooks with a tag of YAML guard tools', async () => {
    put('app/.claude/agents/a.md', agentFile('name: a\ndescription: d\nhooks: !!omap [PreToolUse: [{matcher: Bash}]]'))
    const { notes } = await readAgentDefinitions({ ...places(), trust: trusted })
    expect(notes.join()).toContain('so the agent gets no tools')
  })

  test('R-AGENT-3a: reports unknown fields, and reads multi-line texts', async () => {
    const fields =
      'description: >\n  one\n  tools: all of them\ntools: [Read,\n  Grep]\ncolor: red\neffort: high\nowner: me\n# tools: none'
    put('app/.claude/agents/a.md', agentFile(`name: a\n${fields}`))
    const { all, notes } = await readAgentDefinitions({ ...places(), trust: trusted })
    expect(all).toMatchObject([{ name: 'a', description: 'one tools: all of them', tools: ['Read', 'Grep'] }])
    expect(notes).toEqual([
      `${join(cwd, '.claude/agents/a.md')}: effort of an agent is not supported. Ignored.`,
      `${join(cwd, '.claude/agents/a.md')}: owner is not a known field of an agent. Ignored.`,
    ])
  })

  test('are bounded in number', async () => {
    for (let count = 0; count < 1_010; count++) put(`app/.claude/agents/a${count}.txt`, '')
    const { notes } = await readAgentDefinitions({ ...places(), trust: trusted })
    expect(notes).toEqual([expect.stringContaining('more than 1000 entries')])
  })
})

describe('--agents', () => {
  test('defines agents of the user, which precede all files', async () => {
    put('app/.claude/agents/a.md', agentFile('name: a\ndescription: of a file'))
    const given = agentsOfJson(
      '{"a": {"description": "d", "prompt": "p", "tools": ["Read"], "disallowedTools": "Edit, Bash(rm, x *)", "maxTurns": 2, "maxBudgetUsd": 0.5, "maxTokens": 1000, "maxDuration": "1m30s"}}',
      cwd,
    )
    const { all } = await readAgentDefinitions({ ...places(), trust: trusted, flagAgents: given })
    expect(all).toEqual([
      {
        name: 'a',
        description: 'd',
        prompt: 'p',
        tools: ['Read'],
        disallowedTools: ['Edit', 'Bash(rm, x *)'],
        maxTurns: 2,
        maxBudgetUsd: 0.5,
        maxTotalTokens: 1_000,
        maxDurationMs: 90_000,
        level: 'flag',
      },
    ])
  })

  test('reports unsupported fields as notes', () => {
    const [given] = agentsOfJson('{"a": {"description": "d", "prompt": "p", "hooks": {}, "owner": "me"}}', cwd)
    expect(given?.notes).toEqual([
      'owner is not a known field of an agent. Ignored.',
      'hooks of an agent are not supported.',
    ])
  })

  test.each([
    ['[1]', 'is not an object of agents'],
    ['{', 'is not valid JSON'],
    ['{"a": 7}', 'has an agent a that is not an object'],
    ['{"a": {"prompt": "p"}}', 'has an agent a: it has no description'],
    ['{"a": {"description": "d", "prompt": "p", "tools": 7}}', 'whose tools is not a list of names'],
    ['{"a": {"description": "d", "prompt": "p", "model": 7}}', 'model must be the name of a model'],
    ['{"a": {"description": "d", "prompt": "p", "disallowedTools": ["Bash(a:*b)"]}}', 'in disallowedTools'],
    [
      '{"a": {"description": "d", "prompt": "p", "disallowed_tools": ["Bash"]}}',
      'disallowed_tools is not a field of an',
    ],
    ['{"a": {"description": "d", "prompt": "p", "tools": ["Read Write"]}}', 'and Read Write is not one'],
    ['{"a": {"description": "d", "prompt": "p", "maxTurns": true}}', 'maxTurns must be a whole number'],
  ])('rejects %s', (json, message) => {
    expect(() => agentsOfJson(json, cwd)).toThrow(message)
  })
})

const turnOf = ({ messages }: ModelRequest): number => messages.filter(({ role }) => role === 'assistant').length
const byPrompt =
  (scripts: { readonly [prompt: string]: readonly ScriptedReply[] }) =>
  (request: ModelRequest): ScriptedReply => {
    const [first] = request.messages
    return scripts[typeof first?.content === 'string' ? first.content : '']?.[turnOf(request)] ?? 'end'
  }
const asks = (...agents: readonly Partial<AgentInput>[]): ScriptedReply => ({
  toolCalls: agents.map((input) => ({ name: 'Agent', input })),
})
const uses = (name: string, input: object): ScriptedReply => ({ toolCalls: [{ name, input }] })

interface World {
  readonly workspace: Workspace
  readonly permissions: RulePermissions
  readonly options: RunOptions
  /** Results that models were shown, by the first words of the conversation. */
  readonly shown: (prompt: string) => readonly string[]
}

function world(
  scripts: Parameters<typeof byPrompt>[0],
  {
    definitions = [],
    ...rules
  }: { readonly definitions?: readonly AgentDefinition[] } & Partial<Parameters<typeof createPermissions>[0]> = {},
): World {
  const workspace = new Workspace({
    cwd,
    env: { PATH: process.env['PATH'] ?? '' },
    hides: (path, rights) => permissions.deniesReading(path, rights),
    judged: (callId, agentId) => permissions.judgedPath(callId, agentId),
  })
  const permissions = createPermissions({
    cwd,
    whenAsked: 'deny',
    shellDirectory: () => workspace.shellDirectory,
    ...rules,
  })
  const model = scriptedModel(byPrompt(scripts))
  const agent = createAgentTool({ definitions, mode: () => permissions.mode })
  const tools = [
    createReadTool(workspace),
    createWriteTool(workspace),
    createBashTool(workspace),
    createGrepTool(workspace),
    createGlobTool(workspace),
    createSkillTool(
      () => [{ ...touchy, path: join(home, 'SKILL.md') }],
      (each, given, who) => expandPromptFile(each, given, trusted, { workspace, permissions }, who),
    ),
    agent,
  ]
  const shown = (prompt: string): readonly string[] => {
    const last = model.requests.findLast(({ messages }) => messages[0]?.content === prompt)
    return (last?.messages ?? []).flatMap(({ content }) =>
      typeof content === 'string'
        ? []
        : content.filter(isToolResult).map((block) => (typeof block.content === 'string' ? block.content : '')),
    )
  }
  return { workspace, permissions, options: { model, tools, permissions }, shown }
}

async function ranIn({ workspace, options }: World): Promise<void> {
  await streamRun(startRun({ prompt: 'go' }), options).result
  await workspace.dispose()
}

test('opens for each of several parallel agents with equal call ids the path that was judged for this agent (R-PLACE-2)', async () => {
  const writing = (file: string): ScriptedReply => ({
    toolCalls: [{ id: 'call_0', name: 'Write', input: { file_path: join(cwd, file), content: file } }],
  })
  const made = world(
    {
      go: [asks({ prompt: 'a' }, { prompt: 'b' }), 'done'],
      a: [writing('a.txt'), 'end'],
      b: [writing('b.txt'), 'end'],
    },
    { whenAsked: 'ask' },
  )
  // Both are judged before either may run.
  const waiting: (() => void)[] = []
  const canUseTool: RunOptions['canUseTool'] = async () => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      if (waiting.length === 2) for (const release of waiting) release()
    })
    return { behavior: 'allow' }
  }
  await ranIn({ ...made, options: { ...made.options, canUseTool } })
  expect(['a.txt', 'b.txt'].map((file) => existsSync(join(cwd, file)))).toEqual([true, true])
})

test('opens the new path of a call whose path was changed (R-PLACE-2)', async () => {
  const write = (file: string) => ({ file_path: join(cwd, file), content: 'x' })
  const made = world({ go: [uses('Write', write('asked.txt')), 'done'] }, { whenAsked: 'ask' })
  const canUseTool: RunOptions['canUseTool'] = async () => ({ behavior: 'allow', updatedInput: write('other.txt') })
  await ranIn({ ...made, options: { ...made.options, canUseTool } })
  expect(['asked.txt', 'other.txt'].map((file) => existsSync(join(cwd, file)))).toEqual([false, true])
})

describe('rules', () => {
  const writing = (file: string) => uses('Write', { file_path: join(cwd, file), content: 'x' })

  test('that deny apply in agents in any mode, and those of an agent apply in agents that it starts', async () => {
    const writer = definition({ name: 'writer', permissionMode: 'acceptEdits', disallowedTools: ['Write(mine.txt)'] })
    const made = world(
      {
        go: [asks({ prompt: 'a', subagent_type: 'writer' }), 'done'],
        a: [writing('secret.txt'), writing('mine.txt'), writing('open.txt'), asks({ prompt: 'b' }), 'end'],
        b: [writing('mine.txt'), writing('open.txt'), 'end'],
      },
      { definitions: [writer], deny: ['Edit(secret.txt)'] },
    )
    await ranIn(made)
    expect(made.shown('a').slice(0, 3)).toEqual([
      expect.stringContaining('Denied by the rule Edit(secret.txt)'),
      expect.stringContaining('Denied by the rule Write(mine.txt)'),
      expect.stringContaining('open.txt'),
    ])
    expect(made.shown('b')).toEqual([
      expect.stringContaining('Denied by the rule Write(mine.txt)'),
      expect.stringContaining('open.txt'),
    ])
    expect(readFileSync(join(cwd, 'open.txt'), 'utf8')).toBe('x')
  })

  test('R-AGENT-8a: file states are per agent: nobody overwrites what they did not see', async () => {
    put('app/shared.txt', 'one\n')
    const reads = uses('Read', { file_path: join(cwd, 'shared.txt') })
    const made = world(
      {
        go: [
          reads,
          asks({ prompt: 'a' }),
          asks({ prompt: 'b' }),
          writing('shared.txt'),
          writing('made.txt'),
          reads,
          writing('shared.txt'),
          'done',
        ],
        a: [
          writing('shared.txt'),
          reads,
          uses('Write', { file_path: join(cwd, 'shared.txt'), content: 'two\n' }),
          writing('made.txt'),
          'end',
        ],
        b: [writing('shared.txt'), 'end'],
      },
      { mode: 'bypassPermissions' },
    )
    await ranIn(made)
    expect(made.shown('a')).toMatchObject([
      expect.stringContaining('has not been read yet'),
      expect.stringContaining('one'),
      expect.stringContaining('Updated'),
      expect.stringContaining('Created'),
    ])
    expect(made.shown('b')).toEqual([expect.stringContaining('has not been read yet')])
    expect(made.shown('go').slice(3)).toMatchObject([
      expect.stringContaining('has changed since you read it.'),
      expect.stringContaining('has not been read yet'),
      expect.stringContaining('two'),
      expect.stringContaining('Updated'),
    ])
  })

  test('R-AGENT-6: searches of an agent omit what it may not read; those of others do not', async () => {
    put('app/secret/key.env', 'KEY=1\n')
    put('app/open.env', 'KEY=2\n')
    const shy = definition({ name: 'shy', disallowedTools: ['Read(secret/**)'] })
    const searches = [
      uses('Grep', { pattern: 'KEY', output_mode: 'content' }),
      uses('Glob', { pattern: '**/*.env' }),
      'end',
    ]
    const made = world(
      { go: [asks({ prompt: 'a', subagent_type: 'shy' }), ...searches], a: searches },
      { definitions: [shy] },
    )
    await ranIn(made)
    expect(made.shown('a')).toEqual(['open.env:1:KEY=2', 'open.env'])
    expect(made.shown('go').slice(1).join()).toContain('secret/key.env')
  })

  test('R-AGENT-6: the sandbox hides from each parallel agent what its own rules deny', async () => {
    put('app/secret/key.env', 'KEY=1\n')
    const shy = definition({ name: 'shy', disallowedTools: ['Read(secret/**)'] })
    const made = world(
      {
        go: [asks({ prompt: 'a', subagent_type: 'shy' }, { prompt: 'b' }), 'end'],
        a: [uses('Bash', { command: 'echo by a' }), 'end'],
        b: [uses('Bash', { command: 'echo by b' }), 'end'],
      },
      { definitions: [shy], mode: 'bypassPermissions' },
    )
    const { workspace, permissions } = made
    const shut: unknown[] = []
    // Confines nothing, and reports what it would hide.
    const sandbox: Pick<Sandbox, 'excludes' | 'describe' | 'sandboxed' | 'dispose'> = {
      excludes: () => false,
      describe(_access, _readable, rights) {
        shut.push(permissions.deniedPlaces(rights).read.length)
        return {} as DescribedSandbox
      },
      sandboxed: (command) => ({ ...command, descriptors: [], started: () => undefined }),
      dispose: () => undefined,
    }
    workspace.sandbox = sandbox as Sandbox
    await ranIn(made)
    expect(shut).toHaveLength(2)
    expect(shut).toEqual(expect.arrayContaining([0, 1]))
    expect([made.shown('a'), made.shown('b')]).toEqual([['by a'], ['by b']])
  })

  test.each<[string, Partial<AgentDefinition>, string]>([
    ['in plan mode', { permissionMode: 'plan' }, 'not run: '],
    ['without Bash', { disallowedTools: ['Bash'] }, 'not run: Agent reviewer does not have Bash.'],
    ['with a rule', { disallowedTools: ['Bash(echo:*)'] }, 'Denied by the rule Bash(echo:*)'],
  ])(
    'R-CMD-3a: an agent %s runs with a skill what it might run with Bash, and no more',
    async (_what, more, expectedResult) => {
      mkdirSync(join(cwd, 'sub'))
      const made = world(
        {
          go: [asks({ prompt: 'a', subagent_type: 'reviewer' }), 'end'],
          a: [uses('Skill', { skill: 'touchy' }), 'end'],
        },
        { definitions: [definition(more)], mode: 'bypassPermissions' },
      )
      await ranIn(made)
      expect(made.shown('a')[0]).toContain(expectedResult)
      expect(existsSync(join(cwd, 'by-skill.txt'))).toBe(false)
    },
  )

  test("R-CMD-3a: a skill that an agent uses does not change the directory of the session's shell", async () => {
    mkdirSync(join(cwd, 'sub'))
    const made = world(
      { go: [asks({ prompt: 'a' }), 'end'], a: [uses('Skill', { skill: 'touchy' }), 'end'] },
      { mode: 'bypassPermissions' },
    )
    await ranIn(made)
    expect([existsSync(join(cwd, 'by-skill.txt')), made.workspace.shellDirectory]).toEqual([true, cwd])
  })

  test('R-CMD-3a: in a mode set for the run a skill runs no more than Bash', async () => {
    const made = world({ go: [uses('Skill', { skill: 'touchy' }), 'end'] }, { mode: 'bypassPermissions' })
    const running = streamRun(startRun({ prompt: 'go' }), made.options)
    running.set({ permissionMode: 'plan' })
    await running.result
    expect([made.shown('go')[0], existsSync(join(cwd, 'by-skill.txt'))]).toEqual([
      expect.stringContaining('not run: '),
      false,
    ])
  })

  test('plan mode applies in agents', async () => {
    const writer = definition({ name: 'writer', permissionMode: 'acceptEdits' })
    const made = world(
      { go: [asks({ prompt: 'a', subagent_type: 'writer' }), 'done'], a: [writing('open.txt'), 'end'] },
      { definitions: [writer], mode: 'plan' },
    )
    await ranIn(made)
    expect(made.shown('a')).toEqual([expect.stringContaining('Plan mode')])
  })

  test.each([
    ['Agent(general-purpose)', {}],
    ['Agent(general-purpose)', { subagent_type: '' }],
    ['Task(reviewer)', { subagent_type: 'reviewer' }],
    ['Agent', { subagent_type: 'reviewer' }],
    ['Task', {}],
  ])('%s denies %j', async (rule, input) => {
    const scripts = { go: [asks({ prompt: 'a', ...input }), 'done'], a: ['end'] }
    const made = world(scripts, { definitions: [definition()], deny: [rule] })
    await ranIn(made)
    expect(made.shown('go')).toEqual([expect.stringContaining(`Denied by the rule ${rule}.`)])
  })

  test('hooks for the former name Task are called for the tool', () => {
    expect([matches('Task', 'Agent'), matches('Edit|Task', 'Agent'), matches('^Task$', 'Agent')]).toEqual([
      true,
      true,
      true,
    ])
    expect([matches('Task', 'Bash'), matches('Agent', 'Task')]).toEqual([false, false])
  })
})

test("parallel agents change neither each other's shell directory nor that of the session", async () => {
  mkdirSync(join(cwd, 'sub'))
  const made = world({
    go: [
      uses('Bash', { command: 'pwd' }),
      asks({ prompt: 'a' }, { prompt: 'b' }),
      uses('Bash', { command: 'pwd' }),
      'done',
    ],
    a: [uses('Bash', { command: 'cd sub && pwd' }), uses('Bash', { command: 'pwd' }), 'end'],
    b: [uses('Bash', { command: 'pwd' }), uses('Bash', { command: 'pwd' }), 'end'],
  })
  await ranIn(made)
  expect(made.shown('a')).toEqual([`${join(cwd, 'sub')}\nThe next command starts in ${cwd} again.`, cwd])
  expect(made.shown('b')).toEqual([cwd, cwd])
  expect([made.shown('go')[0], made.shown('go').at(-1)]).toEqual([cwd, cwd])
})

test('a session killed at any record resumes inside its agents and writes nothing twice', async () => {
  const sessionId = '11111111-2222-4333-8444-555555555555'
  const scripts = {
    go: [asks({ prompt: 'a' }, { prompt: 'c' }), 'done'],
    a: [asks({ prompt: 'b' }), 'a has b'],
    b: [uses('Bash', { command: 'echo once >> log' }), 'b has it'],
    c: [uses('Read', { file_path: join(cwd, 'none') }), 'c'],
  }
  const place = (name: string) => ({ path: join(home, `${name}.jsonl`), sessionId, cwd, version: '0.1.0' })
  const rules = { allow: ['Bash(echo once >> log)', 'Edit(log)'] }
  const log = () => (existsSync(join(cwd, 'log')) ? readFileSync(join(cwd, 'log'), 'utf8').split('\n').length - 1 : 0)

  const whole = await openJournal(place('whole'))
  const first = world(scripts, rules)
  await streamRun(startRun({ prompt: 'go', sessionId }), { ...first.options, steps: whole.steps() }).result
  await whole.close()
  await first.workspace.dispose()
  expect(first.shown('go')).toEqual(['a has b', 'c'])
  expect(log()).toBe(1)
  const lines = readFileSync(place('whole').path, 'utf8').trimEnd().split('\n')
  const written: number[] = []
  for (let length = 2; length < lines.length; length++) {
    rmSync(join(cwd, 'log'), { force: true })
    writeFileSync(place('cut').path, `${lines.slice(0, length).join('\n')}\n`)
    const journal = await openJournal(place('cut'))
    const { open } = journal
    if (open === undefined) {
      await journal.close()
      continue
    }
    const again = world(scripts, rules)
    const { terminal, state } = await resume(open, again.options, journal.transcript, journal.log).loop.ended
    await journal.close()
    await again.workspace.dispose()
    expect([length, terminal.reason, transcriptProblems(state.transcript.messages())]).toEqual([
      length,
      'completed',
      [],
    ])
    const results = state.transcript.messages().flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    expect(results.filter(isToolResult).map(({ content }) => content)).toEqual(['a has b', 'c'])
    written.push(log())
  }
  // Once until the command had begun, and never after that.
  expect(written).toEqual(written.toSorted((one, other) => other - one))
  expect(new Set(written)).toEqual(new Set([1, 0]))
  expect(written.length).toBeGreaterThan(10)
})

test('the general agent can be redefined', () => {
  const child = spawned([definition({ name: generalAgent.name, prompt: 'Mine.' })], {})
  expect(child.system).toMatch(/^Mine\./)
})
