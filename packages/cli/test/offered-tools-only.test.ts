// Holds R-READS-2a of docs/spec.md: no description of a tool sends the model to a tool that the session does not offer.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installProgram, run } from './support/program.ts'

installProgram()

interface Request {
  readonly tools: readonly { readonly name: string; readonly description: string; readonly input_schema: unknown }[]
}

let requested: Request | undefined
const service = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    requested = JSON.parse(Buffer.concat(parts).toString('utf8')) as Request
    const error = { type: 'invalid_request_error', message: 'This service only listens.' }
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ type: 'error', error }))
  })
})
beforeAll(async () => {
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
})
afterAll(() => void service.close())

async function toolsWith(...flags: readonly string[]): Promise<Request['tools']> {
  requested = undefined
  const address = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const env = { ANTHROPIC_API_KEY: 'sk-ant-made-up', ANTHROPIC_BASE_URL: address }
  const { stderr } = await run(['-p', 'hi', '--model', 'claude-sonnet-5-5', ...flags], { env })
  if (requested === undefined) throw new Error(`nothing was asked: ${stderr}`)
  return (requested as Request).tools
}

const names = 'Read|Write|Edit|apply_patch|Bash|Glob|Grep|TaskOutput|TaskStop|Wait|NotebookEdit|WebFetch|Agent'

test.each([
  [['--disallowedTools', 'Bash']],
  [['--disallowedTools', 'Edit,Grep,Wait,Agent']],
  [['--disallowedTools', 'TaskOutput,TaskStop']],
  [['--tools', 'Read']],
  [['--tools', 'Write,Bash']],
  [['--tool-profile', 'codex']],
  [['--tool-profile', 'codex', '--disallowedTools', 'Glob']],
  [['--tool-profile', 'small']],
])('with %j no description names a tool that is not offered', async (flags) => {
  const tools = await toolsWith(...flags)
  const offered = new Set(tools.map(({ name }) => name))
  const named = tools.flatMap(({ description, input_schema: schema }) =>
    // At the beginning of a sentence it is a verb, such as `Read the file first.`
    [...`${description} ${JSON.stringify(schema)}`.matchAll(new RegExp(`(?<=[a-z,:] )(?:${names})\\b`, 'g'))].map(
      ([name]) => name,
    ),
  )
  expect(named.filter((name) => !offered.has(name))).toEqual([])
})

test('lists of tools name those that are there', async () => {
  const tools = await toolsWith('--disallowedTools', 'Edit,Grep,Wait')
  const bash = tools.find(({ name }) => name === 'Bash')
  expect(bash?.description).toContain(' For files, prefer Read, Write and Glob. ')
  expect(JSON.stringify(bash?.input_schema)).toContain(
    'Return immediately. Then use TaskOutput to read it, TaskStop to stop it',
  )
  expect(tools.find(({ name }) => name === 'TaskOutput')?.description).toBe(
    'Returns the output and state of a background command or agent.',
  )
})
