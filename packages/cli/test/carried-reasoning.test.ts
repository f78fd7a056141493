// Reasoning of OpenAI models is sent back unchanged over turns, resume, fork and compaction, but never to another model (spec R-RESP-2, R-RESP-3).
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { here, installProgram, run } from './support/program.ts'

installProgram()

type Item = { readonly [field: string]: unknown; readonly type: string }

interface Asked {
  readonly model: string
  readonly input: readonly Item[]
  readonly store: boolean
}

interface Service {
  readonly url: string
  readonly asked: Asked[]
  /** What the service would refuse. It stores nothing, so each request must be complete. */
  readonly problems: string[]
}

/** Reads `a.txt` after a user message, and answers when it has the text. Each reply begins with reasoning. */
async function startService(): Promise<Service> {
  const service = { asked: [] as Asked[], problems: [] as string[] }
  const thoughts = new Map<string, Item>()
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += String(piece)
    const asked = JSON.parse(text) as Asked
    service.asked.push(asked)
    service.problems.push(...problemsIn(asked, thoughts))
    const items = replyTo(asked, service.asked.length)
    for (const item of items) {
      if (item.type === 'reasoning') thoughts.set(String(item['encrypted_content']), { ...item, by: asked.model })
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(eventsOf(asked.model, items))
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { ...service, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
}

function replyTo({ input, model }: Asked, turn: number): readonly Item[] {
  const thought = {
    type: 'reasoning',
    id: `rs_${turn}`,
    summary: [{ type: 'summary_text', text: `Thought “${turn}” — ünïcode` }],
    encrypted_content: `${'gAAA'.repeat(50)}${model}${turn}==`,
  }
  const last = input.at(-1)
  const isAnswer = last?.type === 'function_call_output' || JSON.stringify(last).includes('summar')
  const call = { call_id: `call_${turn}`, name: 'Read', arguments: '{ "file_path": "a.txt" }' }
  if (!isAnswer) return [thought, { type: 'function_call', id: `fc_${turn}`, ...call, status: 'completed' }]
  const content = [{ type: 'output_text', text: `Answer ${turn}.`, annotations: [] }]
  return [
    thought,
    { type: 'message', id: `msg_${turn}`, role: 'assistant', status: 'completed', phase: 'final_answer', content },
  ]
}

function eventsOf(model: string, items: readonly Item[]): string {
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
  const events = [
    ...items.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
    {
      type: 'response.completed',
      response: { id: 'r', object: 'response', status: 'completed', model, output: items, usage },
    },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

function problemsIn({ input, model, store }: Asked, thoughts: ReadonlyMap<string, Item>): readonly string[] {
  const problems = store ? ['it is stored'] : []
  const calls = new Set<unknown>()
  input.forEach((item, at) => {
    if ('id' in item) problems.push(`item ${at} has an id`)
    if (item.type === 'function_call') calls.add(item['call_id'])
    if (item.type === 'function_call_output' && !calls.delete(item['call_id']))
      problems.push(`output ${at} has no call`)
    if (item.type !== 'reasoning') return
    const { id: _, by, ...sent } = thoughts.get(String(item['encrypted_content'])) ?? { type: 'none', by: '' }
    if (by !== model) problems.push(`item ${at} was thought by ${String(by)}`)
    expect(item).toEqual(sent)
    const next = input[at + 1]
    if (next === undefined || next['role'] === 'user') problems.push(`nothing follows item ${at}`)
  })
  if (calls.size > 0) problems.push(`calls without outputs: ${[...calls].join()}`)
  return problems
}

const kindsIn = (asked: Asked | undefined): string =>
  (asked?.input ?? []).map(({ type, role }) => (type === 'message' ? String(role) : type)).join(' ')
const thoughtsIn = (asked: Asked | undefined): readonly unknown[] =>
  (asked?.input ?? []).flatMap((item) => item['encrypted_content'] ?? [])

test('keeps reasoning over turns, resume, fork, another model and compaction', async () => {
  const service = await startService()
  const home = mkdtempSync(join(here(), 'home-'))
  const cwd = mkdtempSync(join(home, 'work-'))
  writeFileSync(join(cwd, 'a.txt'), 'the text of a line\n'.repeat(1_500))
  const env = { HOME: home, OPENAI_BASE_URL: service.url, OPENAI_API_KEY: 'key' }
  const ask = async (prompt: string, ...flags: readonly string[]): Promise<readonly Asked[]> => {
    const before = service.asked.length
    const ended = await run(['-p', prompt, ...flags], { env, cwd })
    expect(ended).toMatchObject({ status: 0, stderr: '' })
    return service.asked.slice(before)
  }
  const model = ['--model', 'gpt-5.2'] as const
  const answered = 'reasoning function_call function_call_output reasoning assistant'

  const first = await ask('Read it.', ...model)
  expect(first.map(kindsIn)[1]).toBe('user reasoning function_call function_call_output')

  const second = await ask('Again.', '--continue', ...model)
  expect(kindsIn(second[1])).toMatch(
    new RegExp(`^user ${answered}( user)+ reasoning function_call function_call_output$`),
  )
  expect(thoughtsIn(second[1])).toHaveLength(3)
  // The next request begins with the same content, so that the service finds it in its cache.
  const stable = JSON.stringify(first[1]?.input).slice(0, -1)
  expect(JSON.stringify(second[1]?.input).startsWith(stable)).toBe(true)

  const [forked] = await ask('Otherwise.', '--continue', '--fork-session', ...model)
  expect(thoughtsIn(forked)).toHaveLength(4)

  const other = await ask('You, now.', '--continue', '--model', 'gpt-5.1')
  expect(thoughtsIn(other[0])).toEqual([])
  expect(kindsIn(other[0])).toContain('function_call function_call_output assistant')
  expect(thoughtsIn(other[1])).toHaveLength(1)
  // Each model receives only its own reasoning.
  const [back] = await ask('And you.', '--continue', ...model)
  expect(thoughtsIn(back)).toHaveLength(6)

  await ask('/compact', '--continue', ...model)
  const [after] = await ask('Go on.', '--continue', ...model)
  expect(thoughtsIn(after).length).toBeLessThan(6)
  expect(service.problems).toEqual([])
})
