// The programs of examples/programs work as described, on the sources; documents quote them exactly.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { tool, type Model } from '@halting/core'
import { expectRun, scriptedModel } from '@halting/core/testing'
import { createPrices } from '@halting/models'
import { build } from 'esbuild'
import { afterEach, describe, expect, test } from 'vitest'
import { answer, decide } from '../../../examples/programs/approval.ts'
import { research } from '../../../examples/programs/budget.ts'
import { chatServer as chatWithHistory } from '../../../examples/programs/chat.ts'
import { review } from '../../../examples/programs/fan-out.ts'
import { chatServer as chatWithStreams } from '../../../examples/programs/server.ts'
import { triage } from '../../../examples/programs/triage.ts'
import { sources } from '../../../vitest.build.ts'

const root = new URL('../../../', import.meta.url)
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const documents = readdirSync(new URL('docs/guide/', root)).map((name) => `docs/guide/${name}`)

const folders: string[] = []
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'halting-programs-'))
  folders.push(folder)
  return folder
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Bundles a program from the sources, as one that runs in a separate process. */
async function bundled(code: string): Promise<string> {
  const outfile = join(newFolder(), 'program.test.mjs')
  const resolveDir = fileURLToPath(new URL('examples/programs', root))
  await build({
    stdin: { contents: code, resolveDir, loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    alias: sources,
    logLevel: 'error',
  })
  return outfile
}

/** A scripted model with the prices and reply length of a small model of Anthropic. */
function priced(
  script: Parameters<typeof scriptedModel>[0],
): Model & Pick<ReturnType<typeof scriptedModel>, 'requests'> {
  return {
    ...scriptedModel(script, { defaultOutputTokens: 32_000 }),
    prices: createPrices({ scripted: { input: 1, output: 5 } }),
  }
}

async function listening(server: Server): Promise<{ readonly server: Server; readonly url: string }> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

interface Chunk {
  readonly type: string
  readonly delta?: string
}

interface EventsRead {
  readonly chunks: readonly Chunk[]
  readonly text: string
  readonly types: readonly string[]
  readonly lastId: string
}

/** A client's view, which drops the text of a step on request. */
function textOfChunks(chunks: readonly Chunk[]): string {
  const from = chunks.findLastIndex(({ type }) => type === 'reset-step') + 1
  return chunks
    .slice(from)
    .map(({ type, delta = '' }) => (type === 'text-delta' ? delta : ''))
    .join('')
}

/** Reads server-sent events to the end, or until one contains this text: then the client disconnects. */
async function readEvents({ body }: Response, until?: string): Promise<EventsRead> {
  let all = ''
  for await (const bytes of body ?? []) {
    all += Buffer.from(bytes).toString()
    if (until !== undefined && all.includes(until)) break
  }
  const chunks = [...all.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data) as Chunk)
  return {
    chunks,
    text: textOfChunks(chunks),
    types: chunks.map(({ type }) => type),
    lastId: [...all.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? '',
  }
}

describe('a TypeScript block that names an example', () => {
  const quotes = documents.flatMap((document) =>
    [...textOf(document).matchAll(/^```ts\n(\/\/ (examples\/\S+)\n[\s\S]*?)^```$/gm)].map(
      ([, code = '', example = '']) => ({ document, example, code }),
    ),
  )

  test('is that file', () => {
    expect(quotes.length).toBeGreaterThan(0)
    const others = quotes.filter(({ example, code }) => textOf(example) !== code)
    expect(others.map(({ document, example }) => [document, example])).toEqual([])
  })
})

describe('bench/README.md', () => {
  const table = async (): Promise<string> => {
    const script = fileURLToPath(new URL('bench/lines.mjs', root))
    return (await promisify(execFile)(process.execPath, [script])).stdout
  }

  test('states the current number of lines', async () => {
    expect(textOf('bench/README.md')).toContain(await table())
  })

  test('states at most the promised number of lines', async () => {
    const counts = [...(await table()).matchAll(/programs\/([\w.-]+)\) \| (\d+) \|/g)].map(
      ([, file = '', lines]) => [file, Number(lines)] as const,
    )
    const lines = Object.fromEntries(counts)
    expect(counts).toHaveLength(8)
    expect(lines['triage.ts']).toBeLessThanOrEqual(25)
    expect(lines['fan-out.ts']).toBeLessThanOrEqual(20)
    expect(lines['server.ts']).toBeLessThanOrEqual(40)
  })
})

describe('triage', () => {
  const ticket = { severity: 'high', team: 'security', summary: 'Strangers can log in.' }

  test('returns what the schema describes, even if the first answer does not match it', async () => {
    const model = priced(['It is urgent!', JSON.stringify(ticket)])
    expect(await triage('Anyone can log in as me.', model)).toEqual(ticket)
    expect(model.requests).toHaveLength(2)
  })

  test('says why there is no result', async () => {
    const model = priced([{ text: 'never mind', usage: { output_tokens: 20_000 } }])
    await expect(triage('Anyone can log in as me.', model)).rejects.toThrow(/^max_budget_usd: /)
  })
})

test('ends a run before the request that could exceed the budget', async () => {
  const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => 'x' })
  const model = priced(({ maxOutputTokens }) => ({
    toolCalls: [{ name: 'Look' }],
    usage: { output_tokens: Math.min(6_000, maxOutputTokens) },
  }))
  const outcome = await research('Look everywhere.', [look], model)
  expect(outcome.reason).toBe('max_budget_usd')
  expectRun(outcome).toCostAtMost(0.5)
  expectRun(outcome).not.toCostAtMost(0.45)
})

test('runs five reviewers concurrently under one budget', async () => {
  const names = ['Security', 'Speed', 'Style', 'Tests', 'Docs']
  let open = 0
  let most = 0
  const small = priced(() => ({
    text: '{"problems":["x"]}',
    async before() {
      most = Math.max(most, ++open)
      // The others start within a few microtask turns.
      for (let turns = 0; turns < 500; turns++) await Promise.resolve()
      open--
    },
  }))
  const asked = names.map((name) => ({ name, input: { prompt: 'Review.' } }))
  const lead = priced([{ toolCalls: asked }, 'Fix five things.'])
  const outcome = await review('+ const a = 1', lead, small)
  expectRun(outcome).toHaveAnswered('Fix five things.')
  expectRun(outcome).toCostAtMost(1)
  expect([most, small.requests.length]).toEqual([5, 5])
  expect(JSON.stringify(lead.requests[1]?.messages.at(-1))).toContain(String.raw`{\"problems\":[\"x\"]}`)
})

test('keeps the history of a chat on the server', async () => {
  const model = priced([{ text: 'Paris.' }, { text: 'Two million.' }, { text: 'Who?' }])
  const { server, url } = await listening(chatWithHistory(model))
  try {
    const say = async (path: string, body: string): Promise<unknown> =>
      (await fetch(`${url}${path}`, { method: 'POST', body })).json()
    expect(await say('/a', 'Capital of France?')).toEqual({ answer: 'Paris.', reason: 'completed' })
    expect(await say('/a', 'How many live there?')).toEqual({ answer: 'Two million.', reason: 'completed' })
    expect(await say('/b', 'Hi')).toEqual({ answer: 'Who?', reason: 'completed' })
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 1])
  } finally {
    server.close()
  }
})

test('sends a client that lost its stream the remaining events, and none twice', async () => {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  const model = priced([{ text: 'Hello wor', before: () => gate }, 'Again.'])
  const { server, url } = await listening(chatWithStreams(model))
  const post = (text: string): Promise<Response> => {
    const body = JSON.stringify({ id: 'a', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }] })
    return fetch(`${url}/api/chat`, { method: 'POST', body })
  }
  const comeBack = (after?: string): Promise<Response> =>
    fetch(`${url}/api/chat/a/stream`, after === undefined ? {} : { headers: { 'last-event-id': after } })
  try {
    expect((await comeBack()).status).toBe(204)
    const first = await readEvents(await post('Hi'), '"text-delta"')
    expect(first.text).toBe('Hello wor')
    // A second parallel run would not know of it, and would take its place.
    await expect(post('And?')).rejects.toThrow('fetch failed')
    const again = comeBack(first.lastId)
    open()
    const rest = await readEvents(await again)
    expect([textOfChunks([...first.chunks, ...rest.chunks]), rest.types.at(-1)]).toEqual(['Hello wor', 'finish'])
    expect(rest.types).not.toContain('start')
    expect((await comeBack()).status).toBe(204)
    expect((await readEvents(await comeBack('not an id'))).text).toBe('Hello wor')
    expect((await readEvents(await post('And?'))).text).toBe('Again.')
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3])
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test.each([
  ['approves', true, 'Refunded $80 for a-1.'],
  ['refuses', false, 'Refused.'],
])('lets a user who %s in another request decide about a refund', async (_what, isApproved, result) => {
  const id = join(newFolder(), 'refund.json')
  const asks = (usd: number) => priced([{ toolCalls: [{ name: 'Refund', input: { order: 'a-1', usd } }] }, 'Done.'])
  const small = await answer(id, 'Refund 20 dollars.', asks(20))
  expect(small).toEqual({ text: 'Done.', pending: [] })
  const large = await answer(id, 'Refund 80 dollars.', asks(80))
  expect(large.pending).toMatchObject([{ tool: 'Refund', input: { order: 'a-1', usd: 80 } }])
  const rest = priced(['All done.'])
  const outcome = await decide(id, isApproved, rest)
  expect([outcome.reason, outcome.text]).toEqual(['completed', 'All done.'])
  expect(JSON.stringify(rest.requests[0]?.messages.at(-1))).toContain(result)
})

test('resumes an order that was killed during a charge, and charges it once', async () => {
  const program = (kills: boolean): string => `
    import { scriptedModel } from '@halting/core/testing'
    import { appendFileSync } from 'node:fs'
    import { processOrder } from './resume.ts'

    const charge = async (order, key) => {
      appendFileSync('charges', order + ' ' + key + '\\n')
      if (${kills}) process.kill(process.pid, 'SIGKILL')
      return 'charged'
    }
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? { toolCalls: [{ name: 'Charge', input: { order: 'a-1' } }] } : 'Done: ' + JSON.stringify(messages.at(-1)),
    )
    const result = await processOrder('a-1', charge, model)
    console.log(JSON.stringify([result.subtype, result.result]))
  `
  const cwd = newFolder()
  const run = async (file: string): Promise<{ readonly stdout: string; readonly signal?: string }> =>
    promisify(execFile)(process.execPath, [file], { cwd, timeout: 60_000 }).catch(
      (error: { readonly stdout: string; readonly signal: string }) => error,
    )
  expect((await run(await bundled(program(true)))).signal).toBe('SIGKILL')
  expect(existsSync(join(cwd, 'a-1.jsonl'))).toBe(true)
  const { stdout } = await run(await bundled(program(false)))
  const [subtype, result] = JSON.parse(stdout) as [string, string]
  expect([subtype, readFileSync(join(cwd, 'charges'), 'utf8').trim().split('\n').length]).toEqual(['success', 1])
  // Nobody knows whether the charge went through: the model is informed.
  expect(result).toContain('unknown')
})

describe('a test of an agent', () => {
  /** Runs it like `node --test`. */
  async function testRun(change: (code: string) => string = (code) => code): Promise<string> {
    const file = await bundled(change(textOf('examples/programs/weather-agent.test.ts')))
    const run = promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap', file], { timeout: 60_000 })
    const { stdout } = await run.catch((error: { readonly stdout: string }) => error)
    return stdout
  }

  test('passes with node:test', async () => {
    expect(await testRun()).toMatch(/# pass 2\n# fail 0/)
  })

  test('fails if the agent does something else, with the difference and the ending', async () => {
    const said = await testRun((code) =>
      code.replace("{ city: 'Bonn' })\n  expectRun", "{ city: 'Rome' })\n  expectRun"),
    )
    expect(said).toMatch(/# pass 1\n# fail 1/)
    expect(said).toContain(`Expected the run to call Weather with {"city":"Rome"}, but it called Weather.`)
    expect(said).toContain(`Answer: "Take an umbrella."`)
    expect(said).toContain(`code: 'ERR_ASSERTION'`)
  })
})
