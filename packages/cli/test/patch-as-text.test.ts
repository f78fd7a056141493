// Holds R-PROF-2 of docs/spec: with OpenAI's Responses API, a patch is plain text with a grammar.
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { here, installProgram, run } from './support/program.ts'

installProgram()

interface Body {
  readonly tools?: readonly { readonly type: string; readonly name?: string; readonly format?: object }[]
  readonly input?: readonly { readonly type: string; readonly output?: string }[]
}

const call = {
  type: 'custom_tool_call',
  call_id: 'call_1',
  name: 'apply_patch',
  input: '*** Begin Patch\n*** Update File: a\n@@\n-one "quoted"\n+1\n*** End Patch',
}
const done = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.', annotations: [] }] }

/** Lets its model patch once, and then answer. */
async function startService(): Promise<{ readonly url: string; readonly asked: Body[] }> {
  const asked: Body[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += String(piece)
    const body = JSON.parse(text) as Body
    asked.push(body)
    const output = [body.input?.at(-1)?.type === 'custom_tool_call_output' ? done : call]
    const usage = { input_tokens: 100, output_tokens: 5, total_tokens: 105 }
    const reply = { id: 'r', object: 'response', status: 'completed', model: 'gpt-5.2-codex', output, usage }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify({ type: 'response.completed', response: reply })}\n\n`)
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
}

test('offers the tool as text, applies its call, and returns a text result', async () => {
  const { url, asked } = await startService()
  const env = { OPENAI_API_KEY: 'sk-made-up', OPENAI_BASE_URL: url }
  writeFileSync(join(here(), 'a'), 'one "quoted"\n')
  const flags = ['-p', 'go', '--model', 'gpt-5.2-codex', '--tool-profile', 'codex', '--allowedTools', 'Edit']
  expect(await run(flags, { env })).toMatchObject({ status: 0 })
  expect(readFileSync(join(here(), 'a'), 'utf8')).toBe('1\n')
  const [first, second] = asked
  const tool = first?.tools?.find(({ name }) => name === 'apply_patch')
  expect(tool).toMatchObject({ type: 'custom', format: { type: 'grammar', syntax: 'lark' } })
  expect(JSON.stringify(tool?.format)).toContain('*** Begin Patch')
  expect(second?.input?.at(-1)).toMatchObject({ type: 'custom_tool_call_output', output: expect.stringContaining('M ') as string }) // prettier-ignore
})
