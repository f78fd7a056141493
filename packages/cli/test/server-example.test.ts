// The server of the guide with the real client of `ai`, over loopback: a chat, a page that is loaded again, kills, clients that leave.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
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
let chatServer: (folder: string, options: RunOptions) => Server

beforeAll(async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  // The example says so.
  const example = (await import(pathOf('examples/server.mjs'))) as { readonly chatServer: typeof chatServer }
  ;({ chatServer } = example)
  log.mockRestore()
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The state of a chat as a page holds it. */
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
): Promise<{ server: Server; api: string; at: string }> {
  const server = chatServer(at, options)
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  // Of a server that listens on a port.
  const { port } = server.address() as AddressInfo
  return { server, api: `http://127.0.0.1:${port}/api/chat`, at }
}

const look = tool({ name: 'Look', description: 'looks', readOnly: true, execute: () => 'a door' })
const replies = [{ text: 'I look.', toolCalls: [{ name: 'Look', input: { at: 'wall' } }] }, 'There is a door.'] as const
const options = (): RunOptions => ({
  model: scriptedModel(({ messages }) => replies[messages.filter(({ role }) => role === 'assistant').length % 2] ?? ''),
  tools: [look],
})

/** A model that has begun to write, and goes on when it is let. */
function halting(): { readonly given: RunOptions; readonly letGo: () => void } {
  let letGo = (): void => {}
  const gate = new Promise<void>((resolve) => void (letGo = resolve))
  return { given: { model: scriptedModel([{ text: 'Begun, ', before: () => gate }]), tools: [look] }, letGo }
}

const partsOf = (page: Page): readonly unknown[] =>
  JSON.parse(JSON.stringify(page.lastMessage?.parts ?? [])) as unknown[]
const textsOf = (page: Page): readonly string[] =>
  (page.lastMessage?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []))

describe('the server of the guide', () => {
  test('talks with the client of ai, over several messages', async () => {
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

  test('gives a page that is loaded again the reply that goes on, once', async () => {
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

  test('has nothing for a page where no run goes on', async () => {
    const { api } = await listening(options())
    const page = new Page('nothing', api)
    await page.resumeStream()
    expect([page.status, page.messages]).toEqual(['ready', []])
  })

  test('ends the run of a client that says so when it leaves', async () => {
    const { given } = halting()
    const { api, at } = await listening(given)
    const leave = new AbortController()
    const parts = [{ type: 'text', text: 'Go.' }]
    const body = JSON.stringify({ id: 'left', stopsWithClient: true, messages: [{ id: 'm', role: 'user', parts }] })
    const response = await fetch(api, { method: 'POST', body, signal: leave.signal })
    const bytes = response.body?.getReader()
    await bytes?.read()
    leave.abort()
    await vi.waitFor(async () => {
      const { runs } = await readJournal(join(at, 'left.jsonl'))
      const end = runs.flat().find(({ type }) => type === 'end')
      expect(end).toMatchObject({ terminal: { reason: 'aborted_streaming' } })
    })
  })

  test.each(['../../up', 'a/b', '.', '..', '%00', 'ö\u2028'])('keeps a chat named %j in its folder', async (id) => {
    const { api, at } = await listening(options())
    const parts = [{ type: 'text', text: 'Go.' }]
    const body = JSON.stringify({ id, messages: [{ id: 'm', role: 'user', parts }] })
    const response = await fetch(api, { method: 'POST', body })
    expect(await response.text()).toContain('There is a door.')
    expect(readdirSync(at)).toContain(`${encodeURIComponent(id)}.jsonl`)
  })
})

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => void probe.listen(0, '127.0.0.1', resolve))
  // Of a server that listens on a port.
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => void probe.close(resolve))
  return port
}

/** The example as one file, made from the sources of this moment. */
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
  'a chat survives kill -9 in the middle of a reply: the page comes back, approves, and has it once',
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
    const answer = await fetch(`${api}/killed/approve`, {
      method: 'POST',
      body: JSON.stringify({ approvalId, approved: true }),
    })
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
