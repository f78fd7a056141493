// Holds rules of docs/spec: R-SEARCH-9, R-SEARCH-10, R-SEARCH-13, R-SEARCH-20, R-SEARCH-22, R-SEARCH-26, R-SEARCH-32 for the program.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { here, installProgram, run, script, start } from './support/program.ts'

installProgram()

const usage = { input_tokens: 10, output_tokens: 3 }
const searching = (input: object = {}) => ({
  content: [{ type: 'tool_use', name: 'WebSearch', input: { query: 'vitest fake timers', ...input } }],
  usage,
})
const page = { type: 'web_search_result', url: 'https://vitest.dev/guide', title: 'Guide', encrypted_content: 'x' }
const found = (...pages: readonly object[]) => ({
  when: 'Search the web: vitest fake timers',
  content: [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'vitest' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: pages },
    'Use fake timers.',
  ],
  usage: { input_tokens: 100, output_tokens: 5, server_tool_use: { web_search_requests: 2 } },
})

/** A script whose service can search. */
function searchScript(replies: readonly unknown[]): string {
  const name = script(replies, 'claude-haiku-4-5')
  const file = join(here(), 'search.json')
  writeFileSync(file, JSON.stringify({ model: 'claude-haiku-4-5', webSearch: true, replies }))
  return name === '' ? name : file
}

interface Message {
  readonly type: string
  readonly subtype?: string
  readonly tools?: readonly string[]
  readonly result?: string
  readonly is_error?: boolean
  readonly modelUsage?: Record<string, { readonly webSearchRequests: number; readonly costUSD: number }>
  readonly tool_use_result?: { readonly results?: readonly object[] }
  readonly message?: { readonly content: readonly { readonly type: string; readonly content?: unknown }[] }
}

async function searchRun(flags: readonly string[], file: string) {
  const args = ['-p', 'go', '--script', file, '--output-format', 'stream-json', '--verbose', ...flags]
  const { status, stdout, stderr } = await run(args)
  const messages = stdout.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Message)
  const init = messages.find(({ subtype }) => subtype === 'init')
  const shown = messages.find(({ type }) => type === 'user')
  const result = messages.find(({ type }) => type === 'result')
  return { status, stderr, isOffered: init?.tools?.includes('WebSearch'), shown, result, text: JSON.stringify(shown?.message?.content) }
} // prettier-ignore

test('searches by the service, and includes the fee in the figures', async () => {
  const file = searchScript([searching(), found(page), { expect: 'Guide: https://vitest.dev/guide', content: 'Done.', usage }])
  const { status, stderr, isOffered, result, shown } = await searchRun(['--allowedTools', 'WebSearch'], file)
  expect({ status, stderr, isOffered, result: result?.result }).toEqual({ status: 0, stderr: '', isOffered: true, result: 'Done.' })
  expect(shown?.tool_use_result).toEqual({
    query: 'vitest fake timers',
    results: [{ title: 'Guide', url: 'https://vitest.dev/guide' }],
    searches: 2,
  })
  expect(result?.modelUsage?.['claude-haiku-4-5']).toMatchObject({
    webSearchRequests: 2,
    costUSD: 0.020175,
  })
  const why = await run(['why'])
  expect(why.stdout).toContain('2 web searches')
  const report = await run(['report'])
  expect(report.stdout).toMatch(/failed +searches\n.*claude-haiku-4-5.* 2\n/)
}) // prettier-ignore

test('offers no search if the service cannot search, or a rule removes it', async () => {
  const plain = await searchRun([], script([{ content: 'Done.', usage }], 'claude-haiku-4-5'))
  expect([plain.isOffered, plain.status]).toEqual([false, 0])
  const replies = [{ content: 'Done.', usage }]
  expect((await searchRun(['--disallowedTools', 'WebSearch'], searchScript(replies))).isOffered).toBe(false)
  expect((await searchRun(['--settings', '{"webSearch": "off"}'], searchScript(replies))).isOffered).toBe(false)
})

test('does not search without a rule, and needs only one for its domains', async () => {
  const denied = await searchRun([], searchScript([searching(), { expect: 'The rule WebSearch would allow it', content: 'No.', usage }]))
  expect([denied.result?.result, denied.result?.modelUsage?.['claude-haiku-4-5']?.webSearchRequests]).toEqual(['No.', 0])
  const asked = searchScript([searching({ allowed_domains: ['vitest.dev'] }), found(page), { content: 'Yes.', usage }])
  const allowed = await searchRun(['--allowedTools', 'WebSearch(domain:vitest.dev)'], asked)
  expect([allowed.result?.result, allowed.text.includes('Guide')]).toEqual(['Yes.', true])
}) // prettier-ignore

test('drops results from a denied domain', async () => {
  const evil = { ...page, url: 'https://www.evil.example/a', title: 'Evil' }
  const file = searchScript([searching(), found(page, evil), { expect: 'The answer is omitted', content: 'Done.', usage }])
  const { text, result } = await searchRun(['--allowedTools', 'WebSearch', '--disallowedTools', 'WebSearch(domain:evil.example)'], file)
  expect([result?.result, text.includes('Evil'), text.includes('Guide'), text.includes('fake timers.')]).toEqual(['Done.', false, true, false])
}) // prettier-ignore

test('ends a run that searches without end at its limits', async () => {
  const many = Array.from({ length: 12 }, () => [searching(), found(page)]).flat()
  const calls = await searchRun(['--allowedTools', 'WebSearch', '--max-tool-calls', '3'], searchScript(many))
  expect([calls.status, calls.result?.modelUsage?.['claude-haiku-4-5']?.webSearchRequests]).toEqual([3, 6])
  const dollars = await searchRun(['--allowedTools', 'WebSearch', '--max-run-usd', '0.4'], searchScript(many))
  expect(dollars.status).toBe(3)
})

test('resumes a session that was killed after a search without searching again', async () => {
  const searched = [searching(), found(page), { content: 'Late.', fault: { kind: 'hang', at: 'start' } }]
  const args = ['--output-format', 'stream-json', '--verbose', '--allowedTools', 'WebSearch']
  const running = start(['-p', 'go', ...args, '--include-partial-messages', '--script', searchScript(searched)])
  // The third request is made: everything before it is on record.
  await running.waitForOutput('msg_scripted_3')
  running.child.kill('SIGKILL')
  await running.ended
  const init = JSON.parse(running.stdout().split('\n')[0] ?? '') as { readonly session_id: string }
  const file = searchScript([{ expect: 'Guide: https://vitest.dev/guide', content: 'Done.', usage }])
  const { status, stdout } = await run(['-p', '--resume', init.session_id, ...args, '--script', file])
  expect([status, stdout.includes('"result":"Done."')]).toEqual([0, true])
  const why = await run(['why', init.session_id])
  expect(why.stdout).toContain('2 web searches')
})

test('shows searches to hooks by name, and gives them to an agent with that tool', async () => {
  const command = 'echo no searches today >&2; exit 2'
  const hooks = { PreToolUse: [{ matcher: 'WebSearch', hooks: [{ type: 'command', command }] }] }
  const file = searchScript([searching(), { expect: 'no searches today', content: 'Done.', usage }])
  const flags = ['--allowedTools', 'WebSearch', '--settings', JSON.stringify({ hooks })]
  expect((await searchRun(flags, file)).result?.result).toBe('Done.')
  const agents = JSON.stringify({ finder: { description: 'Finds', prompt: 'Find.', tools: ['WebSearch'] } })
  const asked = { type: 'tool_use', name: 'Agent', input: { description: 'd', prompt: 'find it', subagent_type: 'finder' } }
  const replies = [{ content: [asked], usage }, searching(), found(page), { expect: 'Guide', content: 'Found it.', usage }]
  const ofAgent = searchScript([...replies, { expect: 'Found it.', content: 'Done.', usage }])
  const { result } = await searchRun(['--allowedTools', 'WebSearch', '--agents', agents], ofAgent)
  expect([result?.result, result?.modelUsage?.['claude-haiku-4-5']?.webSearchRequests]).toEqual(['Done.', 2])
}) // prettier-ignore

test('uses a search server from user settings, and never one of an untrusted project', async () => {
  const server = join(here(), 'search-server.mjs')
  writeFileSync(server, searchServer)
  const mcpServers = { find: { command: process.execPath, args: [server] } }
  const settings = JSON.stringify({ webSearch: { mcp: 'find/web' } })
  const config = JSON.stringify({ mcpServers })
  const replies = [searching({ blocked_domains: ['b.example'] }), { expect: 'Found by find', content: 'Done.', usage }]
  const file = script(replies, 'claude-haiku-4-5')
  const { status, isOffered, text, result } = await searchRun(
    ['--settings', settings, '--mcp-config', config, '--allowedTools', 'WebSearch'],
    file,
  )
  expect({ status, isOffered, result: result?.result }).toEqual({ status: 0, isOffered: true, result: 'Done.' })
  expect(text).toContain('[Results of find/web.')
  expect(text).toContain(
    String.raw`Found by find: {\"query\":\"vitest fake timers\",\"exclude_domains\":[\"b.example\"]}`,
  )
  const folder = join(here(), 'project', '.halting')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'settings.json'), settings)
  const plain = script([{ content: 'Done.', usage }], 'claude-haiku-4-5')
  const args = ['-p', 'go', '--script', plain, '--output-format', 'stream-json', '--verbose']
  const { stdout } = await run(args, { cwd: join(here(), 'project') })
  expect(stdout).not.toContain('"WebSearch"')
})

const searchServer = `
import { createInterface } from 'node:readline'
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'find', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'web', description: 'Searches', inputSchema: { type: 'object', properties: { query: { type: 'string' }, exclude_domains: { type: 'array' } } } }] }),
  'tools/call': ({ arguments: given }) => ({ content: [{ type: 'text', text: 'Found by find: ' + JSON.stringify(given) }] }),
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || answers[method] === undefined) return
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method](params) }) + '\\n')
})
`
