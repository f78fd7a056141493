import { Writable } from 'node:stream'
import {
  type ClientApp,
  type ClientCapabilities,
  client,
  type ClientConnection,
  type InitializeResponse,
  methods,
  ndJsonStream,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk'
import { onTestFinished } from 'vitest'
import { type Message, type Wire, watchWire } from './acp-schema.ts'
import { type Running, start } from './program.ts'

export interface Talk extends Running {
  readonly agent: ClientConnection['agent']
  readonly initialized: InitializeResponse
  readonly wire: Wire
  /** Lines on stdout that are not messages. */
  readonly strangers: string[]
  /** Calls for which it asked permission. */
  readonly asked: string[]
  /** Its exit code, once it has exited. */
  readonly exited: () => Promise<unknown>
}

export interface TalkOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly capabilities?: ClientCapabilities
  /** Answers permission requests instead of allowing them once. */
  readonly permission?: () => Promise<RequestPermissionResponse>
  /** Answers other requests. */
  readonly answers?: (app: ClientApp) => void
}

/** The program, and a client over its pipes that allows every request. */
export async function talk(args: readonly string[], options: TalkOptions = {}): Promise<Talk> {
  const { env = {}, capabilities = {}, answers, permission } = options
  const running = start(['acp', ...args], { stdin: { open: true }, env })
  const { child } = running
  onTestFinished(() => void child.kill('SIGKILL'))
  const wire = watchWire()
  const [strangers, asked] = [[] as string[], [] as string[]]
  const { stdin, stdout } = child
  if (stdin === null || stdout === null) throw new Error('no pipes')
  // Input and output are recorded line by line.
  const toAgent = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n').filter(Boolean)) wire.see('client', JSON.parse(line) as Message)
      stdin.write(chunk, done)
    },
  })
  let fromAgent: ReadableStreamDefaultController<Uint8Array> | undefined
  const readable = new ReadableStream<Uint8Array>({
    start(controller) {
      fromAgent = controller
    },
  })
  let rest = ''
  stdout.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      try {
        wire.see('agent', JSON.parse(line) as Message)
      } catch {
        strangers.push(line)
      }
    }
    fromAgent?.enqueue(Buffer.from(text))
  })
  stdout.on('end', () => fromAgent?.close())
  const app = client({ name: 'test' })
    .onNotification(methods.client.session.update, () => undefined)
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params.toolCall.toolCallId)
      if (permission !== undefined) return permission()
      return { outcome: { outcome: 'selected', optionId: 'allow_once' } }
    })
  answers?.(app)
  // True: Node's type of web streams and that of the library describe the same streams.
  const writable = Writable.toWeb(toAgent) as WritableStream<Uint8Array>
  const { agent } = app.connect(ndJsonStream(writable, readable))
  const initialized = await agent.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: capabilities,
  })
  return { ...running, agent, initialized, wire, strangers, asked, exited: async () => (await running.ended).status }
}

export const say = (text: string) => [{ type: 'text' as const, text }]
