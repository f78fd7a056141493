// Rules: R-HOST-4.
import { expect, test } from 'vitest'
import { readInitialize } from '../../src/host/initialize.ts'

test('an empty request leaves the flags unchanged', () => {
  const flags = { model: 'm', systemPromptFile: 'a.md', agents: '{"a":{}}' }
  expect(readInitialize({ subtype: 'initialize' }, flags)).toEqual({
    flags,
    isInitialized: true,
    hooks: undefined,
    sdkServers: [],
    sdkServerConfigs: {},
    sdkServerManifests: {},
    summarizesAgents: false,
    toolAliases: undefined,
    planInstructions: undefined,
    forwardsAgentText: false,
    title: undefined,
    skills: undefined,
    warnings: [],
    plugins: undefined,
    provides: { servers: false, hooks: false },
  })
})

test('an empty system prompt stays empty, and two texts are joined by an empty line', () => {
  expect(readInitialize({ systemPrompt: [''] }, { systemPromptFile: 'a.md' }).flags).toEqual({ systemPrompt: '' })
  expect(readInitialize({ systemPrompt: ['a', 'b'], appendSystemPrompt: 'c' }, {}).flags).toEqual({
    systemPrompt: 'a\n\nb',
    appendSystemPrompt: 'c',
  })
})

test('agents, the schema, servers and suggestions become flags', () => {
  const { flags, provides: names } = readInitialize(
    {
      agents: { a: { description: 'new', prompt: 'p' }, b: { description: 'b', prompt: 'p' } },
      jsonSchema: { type: 'object' },
      mcpServers: { calc: { command: 'calc' } },
      promptSuggestions: true,
    },
    { agents: '{"a":{"description":"old","prompt":"p"},"c":{"description":"c","prompt":"p"}}', mcpConfig: ['x.json'] },
  )
  expect(flags).toEqual({
    agents:
      '{"a":{"description":"new","prompt":"p"},"c":{"description":"c","prompt":"p"},"b":{"description":"b","prompt":"p"}}',
    jsonSchema: '{"type":"object"}',
    mcpConfig: ['x.json', '{"mcpServers":{"calc":{"command":"calc"}}}'],
    promptSuggestions: true,
  })
  expect(names).toEqual({ servers: true, hooks: false })
})

test('passes on hooks and servers of the host', () => {
  const hooks = { PreToolUse: [{ matcher: 'Bash', hookCallbackIds: ['hook_0'] }] }
  const manifests = { calc: { initializeResult: {} } }
  expect(readInitialize({ hooks, sdkMcpServers: ['calc'], sdkMcpServerManifests: manifests }, {})).toMatchObject({
    hooks,
    sdkServers: ['calc'],
    sdkServerManifests: manifests,
    provides: { hooks: true },
  })
})

test('plugins become flags; an invalid folder is reported, and counts as not loaded', () => {
  const given = [
    { type: 'local', path: '/p' },
    { type: 'local', path: 'q', skipMcpDiscovery: true },
    { type: 'remote', path: '/r' },
    { type: 'local', path: 1 },
  ]
  const { flags, warnings, plugins } = readInitialize({ plugins: given }, { pluginDir: ['/o'], pluginDirNoMcp: ['/n'] })
  expect(flags).toEqual({ pluginDir: ['/o', '/p'], pluginDirNoMcp: ['/n', 'q'] })
  expect(plugins).toEqual(['/p', 'q', undefined, undefined])
  expect(warnings).toEqual([
    'initialize: plugins: each must be {"type": "local", "path": "…"}; ignored those that are not.',
  ])
  expect(readInitialize({ plugins: [] }, {}).plugins).toBeUndefined()
})

test('reads the options of the session, and ignores blank ones', () => {
  const request = {
    title: ' T ',
    planModeInstructions: ' ',
    toolAliases: { A: 'B' },
    forwardSubagentText: true,
    agentProgressSummaries: true,
  }
  expect(readInitialize(request, {})).toMatchObject({
    title: 'T',
    planInstructions: undefined,
    toolAliases: { A: 'B' },
    forwardsAgentText: true,
    summarizesAgents: true,
  })
})

test.each([
  [{ systemPrompt: [1] }, 'systemPrompt must be a list of the right type'],
  [{ appendSystemPrompt: {} }, 'appendSystemPrompt must be a string'],
  [{ agents: [] }, 'agents must be an object'],
  [{ toolAliases: { A: 1 } }, 'toolAliases must be an object of tool names'],
  [{ hooks: 'all' }, 'hooks must be an object'],
  [{ plugins: [1] }, 'plugins must be a list of the right type'],
  [{ sdkMcpServers: {} }, 'sdkMcpServers must be a list of the right type'],
])('%j is rejected: %s', (fields, problem) => {
  expect(() => readInitialize(fields, {})).toThrow(`initialize: ${problem}.`)
})
