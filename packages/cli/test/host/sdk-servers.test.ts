// Spec R-HOST-12, R-MCP-18: servers in the process of the official SDK, and servers that it changes.
import { createSdkMcpServer, type McpServerStatus, type Query, tool } from '@anthropic-ai/claude-agent-sdk'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { endHosts, host, type Host, user } from '../support/host.ts'
import { installProgram } from '../support/program.ts'
import { server as hostile } from '../support/servers.ts'
import {
  answerOf,
  runQuery,
  removeFoldersAfterEach,
  PromptStream,
  shownTools,
  toolResults,
  use,
} from './support/sdk.ts'

installProgram()
removeFoldersAfterEach()
endHosts()

const numbers = { a: z.number(), b: z.number() }
const calc = () =>
  createSdkMcpServer({
    name: 'calc',
    version: '2.0.0',
    tools: [
      tool('add', 'Adds', numbers, async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }), {
        annotations: { readOnlyHint: true },
      }),
      tool('fail', 'Fails', {}, () => Promise.reject(new Error('out of order'))),
      tool('hang', 'Hangs', {}, () => new Promise<never>(() => undefined)),
    ],
  })
const done = { content: 'Done.' }
const add = use('mcp__calc__add', { a: 1, b: 2 })
const rules = { allowedTools: ['mcp__calc'] }

test('offers and calls its tools from the first turn on', async () => {
  const outcome = await runQuery('go', [add, use('mcp__calc__fail', {}), done], {
    options: { ...rules, mcpServers: { calc: calc() } },
  })
  expect(shownTools(outcome, 0)).toEqual(expect.arrayContaining(['mcp__calc__add', 'mcp__calc__fail']))
  expect([toolResults(outcome), answerOf(outcome)]).toEqual([['3', expect.stringContaining('out of order')], 'Done.'])
  expect(outcome.messages[0]).toMatchObject({ subtype: 'init', mcp_servers: [{ name: 'calc', status: 'connected' }] })
})

test('reports its tools in the usage of the context window', async () => {
  let usage: Awaited<ReturnType<Query['getContextUsage']>> | undefined
  await runQuery('go', [add, done], {
    options: { ...rules, mcpServers: { calc: calc() } },
    async during(message, running) {
      if (message.type === 'assistant') usage ??= await running.getContextUsage()
    },
  })
  expect(usage?.mcpTools).toContainEqual({
    name: 'mcp__calc__add',
    serverName: 'calc',
    tokens: expect.any(Number),
    isLoaded: true,
  })
})

test('an unanswered call times out', async () => {
  const outcome = await runQuery('go', [use('mcp__calc__hang', {}), done], {
    options: { ...rules, mcpServers: { calc: calc() }, env: { MCP_TOOL_TIMEOUT: '300' } },
  })
  expect([toolResults(outcome), answerOf(outcome)]).toEqual([
    [expect.stringContaining('did not answer within 0.3 s')],
    'Done.',
  ])
})

test('tool policies apply: always_ask asks despite an allow rule, always_deny denies', async () => {
  const asked: string[] = []
  const server = {
    ...calc(),
    tools: [
      { name: 'add', permission_policy: 'always_ask' as const },
      { name: 'fail', permission_policy: 'always_deny' as const },
    ],
  }
  const outcome = await runQuery('go', [add, use('mcp__calc__fail', {}), done], {
    options: {
      ...rules,
      mcpServers: { calc: server },
      canUseTool: async (name, input) => {
        asked.push(name)
        return { behavior: 'allow', updatedInput: input }
      },
    },
  })
  expect([asked, toolResults(outcome)[0], toolResults(outcome)[1]]).toEqual([
    ['mcp__calc__add'],
    '3',
    expect.not.stringContaining('out of order'),
  ])
})

/** Runs `work` between the first prompt of a session and its last one. */
async function runBetweenPrompts(
  replies: readonly unknown[],
  work: (query: Query) => Promise<void>,
  options: Parameters<typeof runQuery>[2] = {},
) {
  const prompts = new PromptStream('first')
  let results = 0
  return runQuery(prompts, replies, {
    ...options,
    during: async (message, query) => {
      if (message.type !== 'result') return
      results += 1
      if (results > 1) return prompts.end()
      await work(query)
      prompts.push('second')
    },
  })
}

const byName = (statuses: readonly McpServerStatus[]) =>
  statuses.map(({ name, status, tools = [] }) => [name, status, tools.map((one) => one.name)])

test('servers are added and removed during the session', async () => {
  const seen: unknown[] = []
  const outcome = await runBetweenPrompts([done, add, done], async (query) => {
    seen.push(await query.setMcpServers({ calc: calc(), odd: { type: 'stdio', command: '' } }))
    seen.push(byName(await query.mcpServerStatus()))
    seen.push(await query.setMcpServers({ calc: calc() }))
  }, { options: rules }) // prettier-ignore
  expect(seen).toEqual([
    { added: ['odd', 'calc'], removed: [], errors: { odd: expect.stringContaining('command') } },
    [
      ['odd', 'failed', []],
      ['calc', 'connected', ['add', 'fail', 'hang']],
    ],
    { added: [], removed: ['odd'], errors: {} },
  ])
  expect([shownTools(outcome, 0).includes('mcp__calc__add'), toolResults(outcome)]).toEqual([false, ['3']])
})

test('a disabled server offers nothing, and returns when it is enabled and reconnected', async () => {
  const seen: unknown[] = []
  const good = { command: process.execPath, args: [hostile, 'good', ''] }
  const outcome = await runBetweenPrompts([done, done], async (query) => {
    await query.toggleMcpServer('good', false)
    seen.push(byName(await query.mcpServerStatus()))
    seen.push(await query.reconnectMcpServer('good').catch((error: Error) => error.message))
    await query.toggleMcpServer('good', true)
    await query.reconnectMcpServer('good')
    seen.push(byName(await query.mcpServerStatus()))
    seen.push(await query.reconnectMcpServer('none').catch((error: Error) => error.message))
    await query.toggleMcpServer('good', false)
  }, { options: { mcpServers: { good } } }) // prettier-ignore
  expect(seen).toEqual([
    [['good', 'disabled', []]],
    expect.stringContaining('switched off'),
    [['good', 'connected', ['say', 'do']]],
    expect.stringContaining('There is no MCP server none.'),
  ])
  expect([shownTools(outcome, 0), shownTools(outcome)].map((names) => names.includes('mcp__good__say'))).toEqual([
    true,
    false,
  ])
})

test('the Python SDK names its own servers in --mcp-config, and answers for them', async () => {
  const config = JSON.stringify({ mcpServers: { calc: { type: 'sdk', name: 'calc' } } })
  const python = await host([add, done], { args: ['--mcp-config', config, '--allowedTools', 'mcp__calc__add'] })
  const serving = serveCalc(python)
  await python.ask('initialize', { hooks: null })
  python.send(user('go'))
  const result = await python.next(({ type }) => type === 'result')
  const { status } = await python.end()
  await serving
  const results = JSON.stringify(python.service.requests[1]?.body['messages'])
  expect([result['result'], status, results.includes('"3"')]).toEqual(['Done.', 0, true])
})

/** What the Python SDK answers for an in-process server: an older version of the protocol, and only tools. */
async function serveCalc(python: Host): Promise<void> {
  const answers: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: '2024-11-05',
      capabilities: { tools: {} },
      serverInfo: { name: 'calc', version: '1.0.0' },
    },
    'tools/list': { tools: [{ name: 'add', description: 'Adds', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: '3' }] },
  }
  for (const seen = new Set<unknown>(); ;) {
    const line = await python
      .first(({ type, request_id: id }) => type === 'control_request' && !seen.has(id))
      .catch(() => undefined)
    if (line === undefined) return
    seen.add(line['request_id'])
    // The program sends only requests about its server here.
    const { message } = line['request'] as { readonly message: { readonly id?: number; readonly method: string } }
    const reply = { jsonrpc: '2.0', id: message.id ?? 0, result: answers[message.method] ?? {} }
    const response = { subtype: 'success', request_id: line['request_id'], response: { mcp_response: reply } }
    python.send({ type: 'control_response', response })
  }
}
