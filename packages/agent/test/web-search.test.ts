// Holds rules of docs/spec: R-SEARCH-10 to R-SEARCH-18, R-SEARCH-20 and R-SEARCH-21: WebSearch asks a model to search, and gives what it says with its sources.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { codingAgent, createCodingTools, Workspace, type WebSearchPort } from '@halting/agent'
import { openai } from '@halting/models'
import { createPermissions } from '@halting/policy'
import * as texts from '../src/web/web-search-texts.ts'
import {
  createMemorySteps,
  resume,
  startRun,
  streamRun,
  type AssistantMessage,
  type Model,
  type ModelRequest,
  type Prices,
  type RunOptions,
  type StepRecord,
} from '@halting/core'
import { isToolResult, textOf } from '@halting/core/adapters'
import { createFakeClock, scriptedModel } from '@halting/core/testing'
import { responsesRecordings } from '../../models/test/support/responses-recordings.ts'
import { codingTools, temporaryFolder, toolNamed } from './support/harness.ts'

/** A dollar per token, and ten per search. */
const prices: Prices = {
  cost: (_model, { input_tokens: input, output_tokens: output, server_tool_use: uses }) =>
    input + output + 10 * (uses?.web_search_requests ?? 0),
  worstCase: (_model, { inputTokens, outputTokens, serverToolUses = 0 }) =>
    inputTokens + outputTokens + 10 * serverToolUses,
}

type Content = AssistantMessage['content']
interface Reply {
  readonly content: Content
  readonly stop?: string
  readonly searches?: number
}

const page = (url: string, title = url) => ({ type: 'web_search_result', url, title, encrypted_content: 'x' })
const results = (...content: readonly object[]): Content[number] => ({
  type: 'web_search_tool_result',
  tool_use_id: 's',
  content,
})
const says = (text: string): Content[number] => ({ type: 'text', text })
const found: Reply = { content: [results(page('https://vitest.dev/guide', 'Guide')), says('Use fake timers.')] }

/** A model that can search, with these answers in order. */
function searcher(replies: readonly Reply[], over: Partial<Model> = {}) {
  const requests: ModelRequest[] = []
  const model: Model = {
    id: 'searcher',
    contextWindow: 10_000,
    maxOutputTokens: 4_000,
    webSearch: { domains: 'allowed and blocked' },
    ...over,
    async call(request) {
      const { content, stop = 'end_turn', searches = 1 } = replies[requests.length] ?? found
      requests.push(request)
      const usage = { input_tokens: 50, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
      const server_tool_use = { web_search_requests: searches }
      const id = `msg_${requests.length}`
      return {
        message: {
          role: 'assistant',
          id,
          model: 'm',
          content,
          stop_reason: stop,
          usage: { ...usage, server_tool_use },
        },
      }
    },
  }
  return { model, requests }
}

interface World {
  readonly input?: object
  readonly given?: Partial<RunOptions>
  readonly port?: WebSearchPort
}

/** A run whose model searches once and then answers. */
function world(service: ReturnType<typeof searcher>, { input = {}, given = {}, port }: World = {}) {
  const workspace = new Workspace({ cwd: temporaryFolder() })
  onTestFinished(() => workspace.dispose())
  workspace.smallModel = service.model
  if (port !== undefined) workspace.webSearch = port
  const call = { name: 'WebSearch', input: { query: 'vitest fake timers', ...input } }
  const model = scriptedModel(
    ({ messages }) => (messages.some(({ role }) => role === 'assistant') ? 'done' : { toolCalls: [call] }),
    { maxOutputTokens: 2_000 },
  )
  const clock = createFakeClock({ autoAdvance: true })
  const options: RunOptions = { model, models: [service.model], prices, clock, tools: createCodingTools(workspace), ...given }
  return { options, model }
} // prettier-ignore

async function runOf(options: RunOptions) {
  const steps = createMemorySteps(options.clock === undefined ? {} : { clock: options.clock })
  const { terminal, state } = await streamRun(startRun({ prompt: 'go' }), { ...options, steps }).ended
  const said = state.transcript.messages().flatMap(({ content }) => (Array.isArray(content) ? content : []))
  const result = said.find(isToolResult)
  return { terminal, records: steps.records, text: textOf(result?.content ?? ''), isError: result?.is_error === true }
}

const head = texts.searchedByModel

test('returns the answer of the model and the found pages, and adds the fee to the sums', async () => {
  const service = searcher([found])
  const { text, terminal } = await runOf(world(service).options)
  expect(text).toBe(`${head}\n\nUse fake timers.\n\nSources:\n- Guide: https://vitest.dev/guide`)
  expect(service.requests.map(({ webSearch, tools, messages }) => [webSearch, tools, textOf(messages[0]?.content ?? '')])).toEqual([
    [{ maxUses: 8 }, [], 'Search the web: vitest fake timers'],
  ])
  expect(terminal.summary.modelUsage['searcher']).toMatchObject({ costUsd: 70, usage: { server_tool_use: { web_search_requests: 1 } } })
}) // prettier-ignore

test('asks the model of the run if the small one cannot search', async () => {
  const service = searcher([])
  const { options, model } = world(service)
  const small = scriptedModel([], { id: 'small' })
  const workspace = new Workspace({ cwd: temporaryFolder() })
  onTestFinished(() => workspace.dispose())
  workspace.smallModel = small
  const own: Model = { ...model, webSearch: { domains: 'none' } }
  let searched = 0
  const asked: Model = {
    ...own,
    call: async (request, call) => {
      if (request.webSearch === undefined) return own.call(request, call)
      searched++
      return service.model.call(request, call)
    },
  }
  const { text } = await runOf({ ...options, model: asked, models: [small], tools: createCodingTools(workspace) })
  expect([searched, text.includes('Use fake timers.')]).toEqual([1, true])
})

test('is offered only to a model that supports it, also after a change of the model', async () => {
  const { options, model } = world(searcher([]), { port: { by: 'service' } })
  const names = (tools: readonly { readonly name: string }[] | undefined) => tools?.some(({ name }) => name === 'WebSearch')
  await runOf(options)
  expect(names(model.requests[0]?.tools)).toBe(true)
  const workspace = new Workspace({ cwd: temporaryFolder() })
  onTestFinished(() => workspace.dispose())
  const plain = scriptedModel(['one'], { id: 'plain' })
  const able: Model & { requests: readonly ModelRequest[] } = { ...scriptedModel(['two'], { id: 'able' }), webSearch: { domains: 'none' } }
  const tools = createCodingTools(workspace)
  const run = streamRun(startRun({ prompt: 'go' }), { model: plain, models: [able], tools })
  await run.ended
  expect(names(plain.requests[0]?.tools)).toBe(false)
  const other = streamRun(startRun({ prompt: 'go' }), { model: plain, models: [able], tools })
  other.set({ model: 'able' })
  await other.ended
  expect(names(able.requests[0]?.tools)).toBe(true)
  workspace.webSearch = { by: 'off' }
  expect(toolNamed(tools, 'WebSearch').offeredTo?.(able)).toBe(false)
}) // prettier-ignore

test.each([
  ['max_uses_exceeded', 'The service stopped searching'],
  ['too_many_requests', 'Try again later.'],
  ['query_too_long', 'Shorten it.'],
  ['unavailable', 'is unavailable now.'],
  ['new_code', '(new_code)'],
])('reports a refused search: %s', async (error_code, fact) => {
  const why = texts.serviceError(error_code)
  expect(why).toContain(fact)
  const refused = { type: 'web_search_tool_result_error', error_code }
  const block = { type: 'web_search_tool_result', tool_use_id: 's', content: refused } as const
  const { text, isError } = await runOf(world(searcher([{ content: [block, says('sorry')] }])).options)
  expect([text, isError]).toEqual([texts.nothingFoundBecause(why), true])
  const both = await runOf(world(searcher([{ content: [block, ...found.content] }])).options)
  expect([both.isError, both.text.endsWith(why), both.text.includes('Guide')]).toEqual([false, true, true])
})

test('reports that nothing was found', async () => {
  const { text } = await runOf(world(searcher([{ content: [results(), says('Nothing.')] }])).options)
  expect(text).toBe(`${head}\n\nNothing.\n\n${texts.noSources}`)
})

test('continues when the service pauses, within the remaining searches', async () => {
  const paused: Reply = { content: [results(page('https://a.example/1')), says('So far. ')], stop: 'pause_turn', searches: 3 }
  const service = searcher([paused, found])
  const { text } = await runOf(world(service).options)
  expect(text).toContain('So far. Use fake timers.')
  expect(text).toContain('- https://a.example/1\n- Guide: https://vitest.dev/guide')
  expect(service.requests.map(({ webSearch, messages }) => [webSearch?.maxUses, messages.length])).toEqual([[8, 1], [5, 2]])
  const endless = searcher(Array.from({ length: 20 }, () => ({ ...paused, searches: 0 })))
  await runOf(world(endless).options)
  expect(endless.requests).toHaveLength(4)
}) // prettier-ignore

test('requests fewer searches if the budget is too small for all, and reports if it is too small for any', async () => {
  const uses = async (maxBudgetUsd: number) => {
    const service = searcher([found], { contextWindow: 100_000 })
    const { text, terminal } = await runOf(world(service, { given: { maxBudgetUsd } }).options)
    expect(terminal.committedUsd).toBeLessThanOrEqual(maxBudgetUsd)
    return service.requests.map(({ webSearch }) => webSearch?.maxUses)[0] ?? text
  }
  expect(await uses(1_000_000)).toBe(8)
  expect(await uses(500_000)).toBe(4)
  expect(await uses(250_000)).toBe(2)
  expect(await uses(150_000)).toBe(1)
  expect(await uses(90_000)).toMatch(/^The budget does not allow a search, .*Nothing was found\.$/)
})

test.each([
  ['https://a.example', 'allowed_domains must be a list'],
  ['', 'allowed_domains must be a list'],
  ['a.example/path', 'allowed_domains must be a list'],
  ['*.a.example', 'allowed_domains must be a list'],
  ['10.0.0.1', 'allowed_domains must be a list'],
])('rejects %j as a domain', async (domain, why) => {
  const { text, isError } = await codingTools().use('WebSearch', { query: 'x', allowed_domains: [domain] })
  expect([isError, text.includes(why)]).toEqual([true, true])
})

test('rejects two lists, and a query that is too long', async () => {
  const { use } = codingTools()
  const both = { query: 'x', allowed_domains: ['a.example'], blocked_domains: ['b.example'] }
  expect((await use('WebSearch', both)).text).toBe('WebSearch: give either allowed_domains or blocked_domains, not both.')
  expect((await use('WebSearch', { query: 'x'.repeat(1_001) })).text).toContain('query has more than 1000 characters')
  expect((await use('WebSearch', { query: '' })).isError).toBe(true)
}) // prettier-ignore

const ruled = (deny: readonly string[]): WebSearchPort => {
  const permissions = createPermissions({ cwd: '/project', deny })
  return { by: 'service', bounds: (rights) => permissions.searchBounds(rights) }
}

test('blocks what rules deny, and omits it if it is returned anyway', async () => {
  const deny = ['WebSearch(domain:evil.example)', 'WebSearch(domain:*.bad.example)']
  const denied = searcher([
    { content: [results(page('https://docs.evil.example/a', 'Evil'), page('https://good.example/b', 'Good')), says('Evil says so.')] },
  ])
  const { text } = await runOf(world(denied, { port: ruled(deny), input: { blocked_domains: ['other.example'] } }).options)
  expect(denied.requests[0]?.webSearch?.blockedDomains).toEqual(['other.example', 'evil.example', 'bad.example'])
  expect(text).toBe(
    `${head}\n\n${texts.taintedAnswer}\n\nSources:\n- Good: https://good.example/b`,
  )
}) // prettier-ignore

test.each([
  ['one that is too long to be shown', `https://evil.example/${'a'.repeat(3_000)}`],
  ['one with a space before it', ' https://evil.example/'],
  ['one with a slash too few', 'https:/evil.example/'],
  ['one of another form', 'HTTPS://user@EVIL%2eexample.:8443/'],
])('omits an answer that rests on a denied page: %s', async (_, url) => {
  const service = searcher([{ content: [results(page(url, 'Evil'), page('https://good.example/b', 'Good')), says('Evil says so.')] }])
  const { text } = await runOf(world(service, { port: ruled(['WebSearch(domain:evil.example)']) }).options)
  expect(text.split('\n\n').slice(1)).toEqual([
    texts.taintedAnswer,
    'Sources:\n- Good: https://good.example/b',
  ])
}) // prettier-ignore

test.each([
  ['the Responses API', [{ type: 'server_tool_use', id: 's', name: 'web_search', input: { type: 'open_page', url: 'https://www.evil.example/a' } }]],
  ['a package', [{ type: 'server_tool_result', tool_use_id: 's', name: 'web_search', content: { action: { type: 'openPage', url: 'https://evil.example/a' } } }]],
])('omits an answer that rests on a denied page that was only opened: %s', async (_, opened) => {
  const service = searcher([{ content: [...(opened as unknown as Content), results(page('https://good.example/b', 'Good')), says('Evil says so.')] }])
  const { text } = await runOf(world(service, { port: ruled(['WebSearch(domain:evil.example)']) }).options)
  expect(text).toContain(texts.taintedAnswer)
  expect(text).not.toContain('Evil says so.')
  expect((await runOf(world(service).options)).isError).toBe(false)
}) // prettier-ignore

test('requests only the allowed domains that rules leave', async () => {
  const port = ruled(['WebSearch(domain:evil.example)'])
  const service = searcher([{ content: [results(page('https://vitest.dev/a'), page('https://elsewhere.example/b')), says('Both.')] }])
  const { text } = await runOf(world(service, { port, input: { allowed_domains: ['VITEST.dev', 'docs.evil.example'] } }).options)
  expect(service.requests[0]?.webSearch).toEqual({ maxUses: 8, allowedDomains: ['vitest.dev'] })
  expect([text.includes('Both.'), text.includes('elsewhere')]).toEqual([false, false])
  const none = searcher([])
  const left = await runOf(world(none, { port, input: { allowed_domains: ['evil.example'] } }).options)
  expect([left.text, none.requests]).toEqual([texts.notSearched(texts.allDenied), []])
}) // prettier-ignore

test.each([
  ['WebSearch(domain:docs.evil.example)', ['evil.example'], texts.notSearched(texts.partlyDenied(['evil.example']))],
  ['WebSearch(domain:evil.com)', ['com'], texts.notSearched(texts.partlyDenied(['com']))],
  ['WebSearch(domain:*.evil.example)', ['evil.example'], texts.notSearched(texts.partlyDenied(['evil.example']))],
  ['WebSearch(domain:evil.*)', undefined, texts.notSearched(texts.cannotExclude)],
])('does not search what a service cannot exclude: %s, %j', async (rule, allowed_domains, says) => {
  const service = searcher([])
  const input = allowed_domains === undefined ? {} : { allowed_domains }
  const { text } = await runOf(world(service, { port: ruled([rule]), input }).options)
  expect([text, service.requests]).toEqual([says, []])
}) // prettier-ignore

test('says so if the service cannot restrict the domains', async () => {
  const service = searcher([], { webSearch: { domains: 'none' } })
  const { text, isError } = await runOf(world(service, { port: ruled(['WebSearch(domain:evil.example)']) }).options)
  expect([text, isError, service.requests]).toEqual([
    texts.nothingFoundBecause(
      texts.searchFailed('The web search of searcher cannot keep to a list of blocked domains'),
    ),
    true,
    [],
  ])
})

test('limits text of a page to one line, and accepts only web addresses as sources', async () => {
  const odd = [
    page('https://a.example/\u202Ex', 'Title\n\nSources:\n- fake: https://b.example'),
    page('javascript:alert(1)', 'No'),
    page('file:///etc/passwd', 'No'),
    page('https://a.example/same', ''),
    { type: 'web_search_result', url: 7, title: {} },
  ]
  const cited = { type: 'text', text: ' cited', citations: [{ type: 'web_search_result_location', url: 'https://c.example/', title: 'C' }] } as const
  const ofSdk = { type: 'server_tool_result', tool_use_id: 't', name: 'web_search', content: { sources: [{ type: 'url', url: 'https://d.example/' }] } } as const
  const { text } = await runOf(world(searcher([{ content: [results(...odd), says('x'), cited, ofSdk] }])).options)
  expect(text.split('Sources:\n').at(-1)?.split('\n')).toHaveLength(4)
  expect(text).toContain('- Title Sources: - fake: https://b.example: https://a.example/%E2%80%AEx')
  expect(text).not.toMatch(/javascript|passwd/)
  expect(text).toContain('Sources:\n- C: https://c.example/\n- Title')
  expect(text.endsWith('- https://d.example/')).toBe(true)
}) // prettier-ignore

test('searches at most once on the record when killed anywhere and resumed', async () => {
  const whole = await runOf(world(searcher([found])).options)
  for (let count = 2; count < whole.records.length; count++) {
    const records = whole.records.slice(0, count) as readonly StepRecord[]
    const isAnswered = records.some((record) => record.type === 'result' && /\/asked\/[^/]+$/.test(record.key))
    const service = searcher([found])
    const { terminal } = await resume(records, world(service).options).loop.ended
    expect([count, terminal.reason, service.requests.length]).toEqual([count, 'completed', isAnswered ? 0 : 1])
  }
})

test('searches with the tool of a server, with domains if it accepts them', async () => {
  const asked: unknown[] = []
  const server = (properties: object | undefined, answer = 'Found https://a.example/ there.'): WebSearchPort => ({
    ...ruled(['WebSearch(domain:evil.example)']),
    by: {
      name: 'search/web',
      schema: () => (properties === undefined ? undefined : { type: 'object', properties: properties as never }),
      ask: async (input) => {
        asked.push(input)
        if (answer === 'fails') throw new Error('quota\nis used up.')
        return answer
      },
    },
  })
  const of = async (port: WebSearchPort, input: object = {}) => (await runOf(world(searcher([]), { port, input }).options)).text
  const able = { query: {}, exclude_domains: {} }
  expect(await of(server(able))).toBe(`${texts.searchedByTool('search/web')}\n\nFound https://a.example/ there.`)
  expect(asked).toEqual([{ query: 'vitest fake timers', exclude_domains: ['evil.example'] }])
  expect(await of(server(able, 'See https://x.evil.example/a.'))).toBe(texts.searchToolFoundDenied('search/web'))
  for (const written of [
    '**https://evil.example**', 'https://evil.example, and more', '(https://evil.example)', '`https://evil.example`', '{"url":"https:\\/\\/evil.example\\/a"}',
    'HTTPS://EVIL.example:8443', 'https://good.example@evil.example/', 'https://evil.example/@good.example', 'https://evil%2Eexample', 'https://evil\u3002example', 'https://e\u00ADvil.example', '//evil.example./a',
  ])
    expect([written, await of(server(able, `It is at ${written}`))]).toEqual([written, texts.searchToolFoundDenied('search/web')])
  expect(await of(server(able, 'No address: evil.example, https://good.example/evil.example'))).toContain('No address')
  expect(await of(server({ query: {} }))).toBe(texts.notSearched(texts.searchToolWithoutDomains('search/web', 'blocked')))
  expect(await of(server(undefined))).toBe(texts.notSearched(texts.searchToolMissing('search/web')))
  expect(await of(server(able, 'fails'))).toBe(texts.searchToolFailed('search/web', 'quota is used up'))
  expect(await of(server(able, ''))).toContain(texts.nothingFound)
  expect(await of(server(able, 'x'.repeat(60_000)))).toContain('[... 10000 more characters]')
}) // prettier-ignore

test('a recorded search of OpenAI yields an answer with its sources', async () => {
  const recording = responsesRecordings.find(({ name }) => name.startsWith('openai-web-search-tool'))
  const stream = recording?.events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') ?? ''
  const bodies: string[] = []
  const server = createServer((request, response) => {
    request.on('data', (part: Buffer) => void bodies.push(part.toString()))
    request.on('end', () => void response.setHeader('content-type', 'text/event-stream').end(stream))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  // A server that listens on TCP has such an address.
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const model = openai({ model: 'gpt-5-mini', baseUrl, apiKey: 'key', api: 'responses', webSearch: true })
  // Real time: a server responds in its own time.
  const { clock: _, ...options } = world({ model, requests: [] }).options
  const { text, isError } = await runOf(options)
  expect([text, isError]).toEqual([expect.stringContaining('Sources:'), false])
  expect(text).toMatch(/Sources:\n- Petco [^\n]+: https:\/\/techcrunch\.com\/[^\n?]+\n/)
  const named = text.slice(text.indexOf('Sources:'))
  expect(named.match(/petco-confirms/g)).toHaveLength(1)
  expect(bodies.join('')).toContain('"type":"web_search"')
  expect(bodies.join('')).toContain('"max_tool_calls":8')
})

test('a subagent with its own model searches if the setting selects the service, like the model of the run', async () => {
  const asked: { readonly model: string; readonly tools?: readonly { readonly name: string }[] }[] = []
  const answer = (body: (typeof asked)[number]): object => {
    const isFirst = asked.push(body) === 1
    const input = { description: 'x', prompt: 'go', subagent_type: 'helper' }
    const call = { type: 'tool_use', id: 'call-1', name: 'Agent', input }
    return {
      id: `m${asked.length}`,
      type: 'message',
      role: 'assistant',
      model: body.model,
      content: [isFirst ? call : { type: 'text', text: 'Done.' }],
      stop_reason: isFirst ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    }
  }
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer(JSON.parse(body) as (typeof asked)[number])))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const home = temporaryFolder()
  mkdirSync(join(home, '.halting'))
  writeFileSync(join(home, '.halting', 'settings.json'), '{"webSearch": "service"}')
  const builder = await codingAgent({
    cwd: temporaryFolder(),
    env: {
      HOME: home,
      PATH: process.env['PATH'],
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    },
    model: 'claude-sonnet-5-5',
    agents: { helper: { description: 'helps', prompt: 'Help.', model: 'claude-haiku-4-5' } },
    permissionMode: 'bypassPermissions',
    persistSession: false,
  })
  onTestFinished(async () => builder.dispose())
  for await (const message of (await builder.engine()).submit('go')) void message
  const searching = asked.map(({ model, tools = [] }) => [model, tools.some(({ name }) => name === 'WebSearch')])
  expect(searching).toEqual([
    ['claude-sonnet-5-5', true],
    ['claude-haiku-4-5', true],
    ['claude-sonnet-5-5', true],
  ])
})
