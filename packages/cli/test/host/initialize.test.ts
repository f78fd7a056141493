// Rules: R-HOST-4.
import { expect, test } from 'vitest'
import { givenBy } from '../../src/host/initialize.ts'

test('a host that says nothing leaves the flags as they are', () => {
  const flags = { model: 'm', systemPromptFile: 'a.md', agents: '{"a":{}}' }
  expect(givenBy({ subtype: 'initialize' }, flags)).toEqual({
    flags,
    isInitialized: true,
    hooks: undefined,
    sdkServers: [],
    sdkServerConfigs: {},
    sdkServerManifests: {},
    skills: undefined,
    warnings: [],
    names: { servers: false, plugins: false, hooks: false },
  })
})

test('a system prompt of one empty text is an empty one, and two are parted by an empty line', () => {
  expect(givenBy({ systemPrompt: [''] }, { systemPromptFile: 'a.md' }).flags).toEqual({ systemPrompt: '' })
  expect(givenBy({ systemPrompt: ['a', 'b'], appendSystemPrompt: 'c' }, {}).flags).toEqual({
    systemPrompt: 'a\n\nb',
    appendSystemPrompt: 'c',
  })
})

test('agents, the schema, servers and suggestions are said as flags say them', () => {
  const { flags, names } = givenBy(
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
  expect(names).toEqual({ servers: true, plugins: false, hooks: false })
})

test('hooks and servers of the host are handed on', () => {
  const hooks = { PreToolUse: [{ matcher: 'Bash', hookCallbackIds: ['hook_0'] }] }
  const manifests = { calc: { initializeResult: {} } }
  expect(givenBy({ hooks, sdkMcpServers: ['calc'], sdkMcpServerManifests: manifests }, {})).toMatchObject({
    hooks,
    sdkServers: ['calc'],
    sdkServerManifests: manifests,
    names: { hooks: true },
  })
})

test('what has no effect is told', () => {
  const { warnings, names } = givenBy(
    { title: 'T', toolAliases: {}, agentProgressSummaries: false, plugins: [{ type: 'local', path: '/p' }] },
    {},
  )
  expect(warnings).toEqual([
    'initialize: title, toolAliases: not supported, without effect.',
    'initialize: plugins are not supported and are passed over.',
  ])
  expect(names.plugins).toBe(true)
})

test.each([
  [{ systemPrompt: [1] }, 'systemPrompt must be a list of the right kind'],
  [{ appendSystemPrompt: {} }, 'appendSystemPrompt must be a text'],
  [{ agents: [] }, 'agents must be an object'],
  [{ hooks: 'all' }, 'hooks must be an object'],
  [{ sdkMcpServers: {} }, 'sdkMcpServers must be a list of the right kind'],
])('%j is refused: %s', (fields, problem) => {
  expect(() => givenBy(fields, {})).toThrow(`initialize: ${problem}.`)
})
