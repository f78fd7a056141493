// Tests R-SEARCH-6 to R-SEARCH-8 of docs/spec: the web search of the Messages API, its request and its price.
import { expect, onTestFinished, test } from 'vitest'
import { anthropic, createPrices } from '../src/index.ts'
import { scriptedModel } from '../src/scripted/index.ts'
import { call, requestOf } from './support/call.ts'

const body = { description: 'd', input_schema: { type: 'object' } }
const reply = {
  content: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [
        { type: 'web_search_result', url: 'https://a.example', title: 'A', encrypted_content: 'e', page_age: null },
      ],
    },
    'Found.',
  ],
  usage: { input_tokens: 40, output_tokens: 9, server_tool_use: { web_search_requests: 2 } },
} as const

async function scripted(adapter: object = {}) {
  const made = await scriptedModel({ model: 'claude-haiku-4-5', webSearch: true, replies: [reply, reply] }, { adapter })
  onTestFinished(() => made.close())
  return made
}

test('has the tool with its limits in a request that allows it, and results and cost in the reply', async () => {
  const { model, server } = await scripted()
  expect(model.webSearch).toEqual({ domains: 'allowed and blocked' })
  const webSearch = { maxUses: 3, blockedDomains: ['b.example'] }
  const first = await call(model, { request: requestOf({ webSearch, tools: [{ name: 'Own', ...body }] }) })
  expect(server.requests[0]?.body['tools']).toEqual([
    { name: 'Own', ...body },
    {
      type: 'web_search_20250305',
      name: 'web_search',
      max_uses: 3,
      blocked_domains: ['b.example'],
      cache_control: { type: 'ephemeral' },
    },
  ])
  expect(first.reply?.message.content.map(({ type }) => type)).toEqual([
    'server_tool_use',
    'web_search_tool_result',
    'text',
  ])
  const usage = first.reply?.message.usage
  expect(usage?.server_tool_use).toEqual({ web_search_requests: 2 })
  expect(usage && createPrices().cost('claude-haiku-4-5', usage)).toBe((40 * 1 + 9 * 5) / 1e6 + 2 * 0.01)
  await call(model, { request: requestOf({ tools: [] }) })
  expect(server.requests[1]?.body).not.toHaveProperty('tools')
})

test('replaces a search tool in the options', async () => {
  const other = { type: 'code_execution_20250825', name: 'code_execution' }
  const { model, server } = await scripted({ serverTools: [{ type: 'web_search_20260209', name: 'web_search' }, other] })
  const webSearch = { maxUses: 1, allowedDomains: ['a.example'] }
  const tools = [{ name: 'Own', ...body }]
  await call(model, { request: requestOf({ tools, webSearch }) })
  await call(model, { request: requestOf({ tools }) })
  const listed = server.requests.map(({ body: sent }) => JSON.stringify(sent['tools']))
  expect(listed[0]).toContain('"name":"code_execution"')
  expect(listed[0]).toContain('{"type":"web_search_20250305","name":"web_search","max_uses":1,"allowed_domains":["a.example"]')
  expect(listed[0]).not.toContain('20260209')
  expect(listed[1]).toContain('20260209')
}) // prettier-ignore

test.each([
  ['the API of Anthropic', {}, true],
  ['its address', { baseUrl: 'https://api.anthropic.com/v1' }, true],
  ['another service', { baseUrl: 'https://api.z.ai/api/anthropic' }, false],
  ['a gateway that is configured to support it', { baseUrl: 'https://gateway.example', webSearch: true }, true],
  ['an option that disables it', { webSearch: false }, false],
])('knows for %s whether it can search the web', (_, options, can) => {
  const { webSearch } = anthropic({ model: 'claude-test', apiKey: 'key', ...options })
  expect(webSearch).toEqual(can ? { domains: 'allowed and blocked' } : undefined)
})

test('rejects a script with an invalid webSearch', async () => {
  await expect(scriptedModel({ webSearch: 'yes', replies: [] })).rejects.toThrow(
    'script: webSearch must be true or false, not "yes".',
  )
})
