// The server of the guide with the real client of `ai`, over loopback: a chat, a reloaded page, kills, disconnecting clients.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, Server } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AbstractChat, DefaultChatTransport, type ChatState, type ChatStatus, type UIMessage } from 'ai'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { tool, type RunOptions } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { readJournal } from '@halting/journal'
import { entriesOf, packages } from '../../../scripts/packages.mjs'

const root = new URL('../../../', import.meta.url)
const pathOf = (path: string): string => fileURLToPath(new URL(path, root))
const folder = mkdtempSync(join(tmpdir(), 'server-example-'))
type MayUse = (request: IncomingMessage, id: string) => boolean
let chatServer: (folder: string, options: RunOptions, mayUse?: MayUse) => Server

beforeAll(async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  // The example prints it.
  const example = (await import(pathOf('examples/server.mjs'))) as { readonly chatServer: typeof chatServer }
  ;({ chatServer } = example)
  log.mockRestore()
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The state of a chat in a page. */
class PageState implements ChatState<UIMessage> {
  status: ChatStatus = 'ready'
  error: Error | undefined
  messages: UIMessage[]

  constructor(messages: readonly UIMessage[]) {
    this.messages = [...messages]
  }

  pushMessage = (message: UIMessage): void => void (this.messages = [...this.messages, message])
  popMessage = (): void => void (this.messages = this.messages.slice(0, -1))
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, structuredClone(message))
  }
  snapshot = <T>(value: T): T => structuredClone(value)
}

class Page extends AbstractChat<UIMessage> {
  constructor(id: string, api: string, messages: readonly UIMessage[] = []) {
    super({ id, state: new PageState(messages), transport: new DefaultChatTransport({ api }) })
  }
}

async function listening(
  options: RunOptions,
  at = mkdtempSync(join(folder, 'chats-')),
  mayUse?: MayUse,
): Promise<{ server: Server; api: string; at: string }> {
  const server = chatServer(at, options, mayUse)
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  // True: the server listens on a port.
  const { port } = server.address() as AddressInfo
  return { server, api: `http://127.0.0.1:${port}/api/chat`, at }
}

const look = tool({ name: 'Look', description: 'looks', readOnly: true, execute: () => 'a door' })
const replies = [{ text: 'I look.', toolCalls: [{ name: 'Look', input: { at: 'wall' } }] }, 'There is a door.'] as const
const options = (): RunOptions => ({
  model: scriptedModel(({ messages }) => replies[messages.filter(({ role }) => role === 'assistant').length % 2] ?? ''),
  tools: [look],
})

/** A model that has started its reply, and continues when the test allows it. */
function halting(): { readonly given: RunOptions; readonly letGo: () => void } {
  let letGo = (): void => {}
  const gate = new Promise<void>((resolve) => void (letGo = resolve))
  return { given: { model: scriptedModel([{ text: 'Begun, ', before: () => gate }]), tools: [look] }, letGo }
}

/** The request of a page. */
const going = (id: unknown): { readonly id: unknown; readonly messages: readonly unknown[] } => ({
  id,
  messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }],
})
const json = { 'content-type': 'application/json' }
const post = (url: string, body: unknown, more: RequestInit = {}): Promise<Response> =>
  fetch(url, { method: 'POST', headers: json, body: typeof body === 'string' ? body : JSON.stringify(body), ...more })

const partsOf = (page: Page): readonly unknown[] =>
  JSON.parse(JSON.stringify(page.lastMessage?.parts ?? [])) as unknown[]
const textsOf = (page: Page): readonly string[] =>
  (page.lastMessage?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []))

describe('the server of the guide', () => {
  test('talks to the client of ai, over several messages', async () => {
    const { api, at } = await listening(options())
    const page = new Page('talk', api)
    await page.sendMessage({ text: 'What is there?' })
    expect(page.status).toBe('ready')
    expect(partsOf(page)).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'I look.' },
      { type: 'tool-Look', state: 'output-available', input: { at: 'wall' }, output: 'a door' },
      { type: 'step-start' },
      { type: 'text', text: 'There is a door.' },
      { type: 'data-halting-ending', data: { reason: 'completed' } },
    ])
    await page.sendMessage({ text: 'And now?' })
    expect(page.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(textsOf(page)).toEqual(['I look.', 'There is a door.'])
    const { runs } = await readJournal(join(at, 'talk.jsonl'))
    expect(runs.length).toBe(2)
  })

  test('sends a reloaded page the running reply, once', async () => {
    const { given, letGo } = halting()
    const { server, api } = await listening(given)
    const page = new Page('reload', api)
    const lost = page.sendMessage({ text: 'Go.' })
    await vi.waitFor(() => expect(textsOf(page)).toEqual(['Begun, ']))
    server.closeAllConnections()
    await lost
    const again = new Page('reload', api, page.messages)
    const both = [again, new Page('reload', api, page.messages.slice(0, 1))] as const
    const reading = both.map((each) => each.resumeStream())
    await vi.waitFor(() => expect(both.map((each) => textsOf(each))).toEqual([['Begun, '], ['Begun, ']]))
    letGo()
    await Promise.all(reading)
    for (const each of both) {
      expect(textsOf(each)).toEqual(['Begun, '])
      expect(partsOf(each).at(-1)).toMatchObject({ type: 'data-halting-ending', data: { reason: 'completed' } })
      expect(each.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    }
  })

  test('sends a page nothing if no run is active', async () => {
    const { api } = await listening(options())
    const page = new Page('nothing', api)
    await page.resumeStream()
    expect([page.status, page.messages]).toEqual(['ready', []])
  })

  test('ends the run of a client that requests this when it disconnects', async () => {
    const { given } = halting()
    const { api, at } = await listening(given)
    const leave = new AbortController()
    const body = { ...going('left'), stopsWithClient: true }
    const response = await post(api, body, { signal: leave.signal })
    const bytes = response.body?.getReader()
    await bytes?.read()
    leave.abort()
    await vi.waitFor(async () => {
      const { runs } = await readJournal(join(at, 'left.jsonl'))
      const end = runs.flat().find(({ type }) => type === 'end')
      expect(end).toMatchObject({ terminal: { reason: 'aborted_streaming' } })
    })
  })

  test.each(['../../up', 'a/b', '.', '..', '%00', 'ö\u2028'])('stores a chat named %j in its folder', async (id) => {
    const { api, at } = await listening(options())
    const response = await post(api, going(id))
    expect(await response.text()).toContain('There is a door.')
    expect(readdirSync(at)).toContain(`${encodeURIComponent(id)}.jsonl`)
  })
})

/** A chat with the unfinished run of a killed process: its record ends after the first reply. */
async function left(): Promise<{ readonly server: Server; readonly api: string; readonly at: string }> {
  const { api, at, server } = await listening(options())
  await (await post(api, going('left'))).text()
  server.close()
  const path = join(at, 'left.jsonl')
  const lines = readFileSync(path, 'utf8').split('\n')
  const reply = lines.findIndex((line) => line.includes('I look.'))
  writeFileSync(path, `${lines.slice(0, reply + 1).join('\n')}\n`)
  return listening(options(), at)
}

describe('clients of the server of the guide', () => {
  test('receive one run, however many reconnect at once', async () => {
    const { api, at } = await left()
    const back = await Promise.all(Array.from({ length: 4 }, () => fetch(`${api}/left/stream`)))
    expect(back.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    for (const each of back) expect(await each.text()).toContain('There is a door.')
    const { runs } = await readJournal(join(at, 'left.jsonl'))
    expect(runs.length).toBe(1)
  })

  test('start one run, however many messages they send at once', async () => {
    const { api } = await listening(options())
    const all = await Promise.all(Array.from({ length: 4 }, () => post(api, going('many'))))
    expect(all.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409, 409, 409])
    await Promise.all(all.map((each) => each.text()))
    expect((await post(api, going('many'))).status).toBe(200)
  })

  test('receive an error if a message did not become part of the chat after a killed process left a run', async () => {
    const { api, at } = await left()
    expect((await post(api, going('left'))).status).toBe(409)
    const back = await fetch(`${api}/left/stream`, { headers: { 'last-event-id': 'none' } })
    expect(await back.text()).toContain('There is a door.')
    expect((await post(api, going('left'))).status).toBe(200)
    const { runs } = await readJournal(join(at, 'left.jsonl'))
    expect(runs.length).toBe(2)
  })

  test("approve a call of a killed process's run before their page is reloaded", async () => {
    const { api } = await left()
    const answers = ['left', 'other'].map((id) => post(`${api}/${id}/approve`, { approvalId: 'a', approved: true }))
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([204, 404])
  })

  test.each([
    ['{', 400],
    ['null', 400],
    ['[]', 400],
    [{ id: 'x' }, 400],
    [{ id: 'x', messages: [] }, 400],
    [{ id: 'x', messages: [{ role: 'assistant', parts: [{ type: 'text', text: 'I said so.' }] }] }, 400],
    [{ id: 'x', messages: [{ role: 'user', parts: [{ type: 'text', text: {} }] }] }, 400],
    [going(undefined), 400],
    [going(''), 400],
    [going(5), 400],
    [going('a'.repeat(300)), 400],
    [going('\ud800'), 400],
    [going('x'.repeat(2_000_000)), 413],
  ])('receive no information with a refusal: %#', async (body, status) => {
    const { api, at } = await listening(options())
    const response = await post(api, body)
    expect([response.status, await response.text(), readdirSync(at)]).toEqual([status, '', []])
  })

  test('of other sites and other users are refused', async () => {
    const { api, at } = await listening(options(), undefined, (_, id) => id === 'mine')
    expect((await post(api, going('mine'), { headers: {} })).status).toBe(415)
    expect((await post(api, going('theirs'))).status).toBe(403)
    expect((await post(`${api}/theirs/approve`, { approvalId: 'a', approved: true })).status).toBe(403)
    // The path decides which chat is meant.
    expect((await post(`${api}/theirs`, going('mine'))).status).toBe(403)
    expect((await fetch(`${api}/theirs/stream`, { headers: { 'last-event-id': 'run1:1' } })).status).toBe(403)
    expect((await fetch(`${api}/%/stream`)).status).toBe(400)
    expect((await fetch(api, { method: 'DELETE' })).status).toBe(405)
    expect(readdirSync(at)).toEqual([])
  })

  test('can send another message at once, even after a run that could not start', async () => {
    const { api } = await listening({ ...options(), maxTurns: -1 })
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => log.mockRestore())
    for (let time = 0; time < 3; time++) expect((await post(api, going('bad'))).status).toBe(500)
    // Not that the file is in use.
    expect(log.mock.calls.map(([error]) => String(error)).filter((text) => text.includes('in use'))).toEqual([])
  })
})

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => void probe.listen(0, '127.0.0.1', resolve))
  // True: the server listens on a port.
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => void probe.close(resolve))
  return port
}

/** The example as one file, built from the current sources. */
async function bundled(): Promise<string> {
  const outfile = join(folder, 'server.mjs')
  const named = packages.flatMap((name) =>
    entriesOf(name).map(({ specifier, path }) => [specifier, pathOf(`packages/${name}/src/${path}.ts`)] as const),
  )
  const alias = Object.fromEntries(named.toSorted(([one], [other]) => other.length - one.length))
  await build({
    entryPoints: [pathOf('examples/server.mjs')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    outfile,
    alias,
    logLevel: 'error',
  })
  return outfile
}

test(
  'survives kill -9 in the middle of a reply: the page reloads, approves, and has the reply once',
  { timeout: 60_000 },
  async () => {
    const file = await bundled()
    const at = mkdtempSync(join(folder, 'killed-'))
    const port = await freePort()
    const api = `http://127.0.0.1:${port}/api/chat`
    const serve = async (): Promise<ChildProcess> => {
      const child = spawn(process.execPath, [file], {
        env: { ...process.env, CHAT_FOLDER: at, CHAT_PORT: String(port) },
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      await new Promise((resolve) => void child.stdout.once('data', resolve))
      return child
    }
    const first = await serve()
    const page = new Page('killed', api)
    const lost = page.sendMessage({ text: 'Tidy up.' })
    await vi.waitFor(() => expect(textsOf(page)).toEqual(['I look.']), { timeout: 20_000 })
    first.kill('SIGKILL')
    await lost
    expect(page.status).toBe('error')
    await serve()
    const back = page.resumeStream()
    await vi.waitFor(
      () => expect(partsOf(page)).toMatchObject([{}, { text: 'I look.' }, { state: 'approval-requested' }]),
      { timeout: 20_000 },
    )
    const asked = page.lastMessage?.parts[2]
    const approvalId = asked !== undefined && 'approval' in asked ? asked.approval?.id : undefined
    const answer = await post(`${api}/killed/approve`, { approvalId, approved: true })
    expect(answer.status).toBe(204)
    await back
    expect(partsOf(page)).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'I look.' },
      { type: 'tool-Delete', state: 'output-available', output: 'deleted' },
      { type: 'step-start' },
      { type: 'text', text: 'It is gone.' },
      { type: 'data-halting-ending', data: { reason: 'completed' } },
    ])
  },
)
