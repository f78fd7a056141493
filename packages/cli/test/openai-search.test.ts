// Holds rules of docs/spec: R-RESP-8, R-RESP-8a, R-RESP-8b, R-RESP-11c for the program: WebSearch by OpenAI's own tool.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { installProgram, run } from './support/program.ts'

installProgram()

interface Body {
  readonly tools?: readonly { readonly type: string; readonly name?: string }[]
  readonly input?: readonly { readonly type: string; readonly output?: string }[]
}

const page = { type: 'url_citation', url: 'https://vitest.dev/guide', title: 'Guide', start_index: 0, end_index: 9 }
const said = (text: string, annotations: readonly object[] = []) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations }],
})
const found = [
  {
    type: 'web_search_call',
    id: 'ws_1',
    status: 'completed',
    action: { type: 'search', query: 'vitest', queries: ['vitest'], sources: [{ type: 'url', url: page.url }] },
  },
  said('Use fake timers.', [page]),
]
const call = {
  type: 'function_call',
  call_id: 'call_1',
  name: 'WebSearch',
  arguments: '{"query":"vitest fake timers","blocked_domains":["a.example"]}',
}

/** Lets its model search once, and answers the search. */
async function startService(): Promise<{ readonly url: string; readonly asked: Body[] }> {
  const asked: Body[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += String(piece)
    const body = JSON.parse(text) as Body
    asked.push(body)
    const searches = body.tools?.some(({ type }) => type === 'web_search') === true
    const isDone = body.input?.at(-1)?.type === 'function_call_output'
    const output = searches ? found : isDone ? [said('Done.')] : [call]
    const usage = { input_tokens: 100, output_tokens: 5, total_tokens: 105 }
    const reply = { id: 'r', object: 'response', status: 'completed', model: 'gpt-5.2', output, usage }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify({ type: 'response.completed', response: reply })}\n\n`)
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
}

const flags = ['-p', 'go', '--model', 'gpt-5.2', '--allowedTools', 'WebSearch', '--output-format', 'json']

test('searches with a service that supports it, within its limits, with its fee', async () => {
  const service = await startService()
  const env = { OPENAI_BASE_URL: service.url, OPENAI_API_KEY: 'key' }
  const ended = await run([...flags, '--settings', '{"webSearch":"service"}'], { env })
  expect(ended).toMatchObject({ status: 0, stderr: '' })
  const { result, modelUsage } = JSON.parse(ended.stdout) as {
    readonly result: string
    readonly modelUsage: Record<string, { readonly webSearchRequests: number }>
  }
  expect([result, modelUsage['openai/gpt-5.2']?.webSearchRequests]).toEqual(['Done.', 1])
  const [, search, after] = service.asked
  expect(search).toMatchObject({
    tools: [{ type: 'web_search', filters: { blocked_domains: ['a.example'] } }],
    max_tool_calls: 8,
    include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
    store: false,
  })
  const shown = after?.input?.at(-1)?.output
  expect(shown).toContain('Use fake timers.')
  expect(shown).toContain('Guide: https://vitest.dev/guide')
})

test('does not assume search of an unknown gateway, and never searches with chat completions', async () => {
  const service = await startService()
  const env = { OPENAI_BASE_URL: service.url, OPENAI_API_KEY: 'key' }
  const offered = async (settings: string): Promise<boolean> => {
    const before = service.asked.length
    await run([...flags, '--settings', settings], { env })
    return service.asked[before]?.tools?.some(({ name }) => name === 'WebSearch') === true
  }
  expect(await offered('{}')).toBe(false)
  expect(await offered('{"webSearch":"service"}')).toBe(true)
  expect(await offered('{"webSearch":"service","openaiApi":"chat_completions"}')).toBe(false)
})
