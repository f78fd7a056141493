import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AnyMessage,
  type ClientApp,
  type ClientCapabilities,
  type ClientConnection,
  client,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  methods,
  type NewSessionResponse,
  type ReadTextFileRequest,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type Stream,
  type WriteTextFileRequest,
} from '@agentclientprotocol/sdk'
import { createCodingTools, createPersonTools, Workspace } from '@halting/agent'
import { createPermissions, type PermissionMode } from '@halting/policy'
import { createSession, type Session } from '@halting/core/session'
import type { Model, QueryOptions } from '@halting/core'
import { onTestFinished } from 'vitest'
import { serveAgent } from '../../src/acp/agent-app.ts'
import { clientFiles } from '../../src/acp/open-sessions.ts'
import type { Command, SessionOpener } from '../../src/acp/session-opener.ts'
import { withImages } from '../../src/acp/prompt-content.ts'
import { type Message, updatesIn, type Wire, watchWire } from './acp-schema.ts'

// An agent of the protocol in this process, with real sessions and tools, a scripted model, and a client controlled by the test.

interface ClientAnswers {
  readonly permission?: (
    asked: RequestPermissionRequest,
    signal: AbortSignal,
  ) => Promise<RequestPermissionResponse> | RequestPermissionResponse
  readonly elicitation?: (asked: CreateElicitationRequest) => CreateElicitationResponse
  readonly readFile?: (asked: ReadTextFileRequest) => string | Promise<string>
  readonly writeFile?: (asked: WriteTextFileRequest) => void
}

export interface TestAgentOptions extends ClientAnswers {
  readonly model: Model | (() => Model)
  readonly options?: Partial<QueryOptions>
  readonly mode?: PermissionMode
  readonly allow?: readonly string[]
  readonly capabilities?: ClientCapabilities
  readonly commands?: readonly Command[]
  /** Delays a prompt before the session receives it. */
  readonly prepare?: () => Promise<void>
  /** Called with each session, when it is open. */
  readonly opened?: (session: Session) => void
}

export interface TestAgent {
  readonly cwd: string
  readonly wire: Wire
  readonly agent: ClientConnection['agent']
  readonly connection: ClientConnection
  /** Opens a session, and returns its ID. */
  readonly newSession: () => Promise<NewSessionResponse>
  readonly prompt: (
    sessionId: string,
    text: string,
  ) => Promise<{ readonly stopReason: string; readonly _meta?: unknown }>
  readonly updates: (kind?: string) => readonly Message[]
  /** The concatenated text of one kind of chunk. */
  readonly text: (kind?: string) => string
  readonly close: () => Promise<void>
}

export const fullCapabilities: ClientCapabilities = {
  session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
}

/** A folder that is removed after the test. */
export function testFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'halting-acp-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function startAgent(given: TestAgentOptions): Promise<TestAgent> {
  const cwd = testFolder()
  const wire = watchWire()
  const served = serveAgent({ opener: openerFor(given), program: { cwd, env: { HOME: cwd } }, version: '0.0.0' })
  const [ofAgent, ofClient] = streams(wire)
  const agentConnection = served.app.connect(ofAgent)
  const connection = clientFor(given).connect(ofClient)
  const { agent } = connection
  const capabilities = given.capabilities ?? fullCapabilities
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: capabilities })
  const close = async (): Promise<void> => {
    await served.closeAll()
    connection.close()
    agentConnection.close()
  }
  onTestFinished(close)
  const updates = (kind?: string): readonly Message[] =>
    updatesIn(wire).filter((update) => kind === undefined || update['sessionUpdate'] === kind)
  return {
    cwd,
    wire,
    agent,
    connection,
    newSession: () => agent.request(methods.agent.session.new, { cwd, mcpServers: [] }),
    prompt: (sessionId, text) =>
      agent.request(methods.agent.session.prompt, { sessionId, prompt: text === '' ? [] : [{ type: 'text', text }] }),
    updates,
    text: (kind = 'agent_message_chunk') =>
      updates(kind)
        .map(({ content }) => (content as { readonly text?: string }).text ?? '')
        .join(''),
    close,
  }
}

function openerFor(given: TestAgentOptions): SessionOpener {
  return {
    async open({ cwd, client: asked, capabilities }) {
      const workspace = new Workspace({ cwd })
      const permissions = createPermissions({
        cwd,
        mode: given.mode ?? 'default',
        allow: given.allow ?? [],
        whenAsked: 'ask',
      })
      const session = createSession({
        options: {
          model: typeof given.model === 'function' ? given.model() : given.model,
          tools: [...createCodingTools(workspace), ...createPersonTools()],
          permissions,
          ...given.options,
        },
        journal: undefined,
        answersQuestions: true,
        permissions,
        cwd,
        end: () => workspace.dispose(),
      })
      const files = clientFiles(asked, () => session.id, capabilities.fs ?? {})
      if (files !== undefined) workspace.editor = files
      given.opened?.(session)
      return {
        session,
        commands: () => given.commands ?? [],
        models: ['scripted', 'another'],
        async prepare({ text: said, rest, images }) {
          await given.prepare?.()
          return { content: withImages(said + rest, images) }
        },
        onNote: () => undefined,
      }
    },
    history: async () => undefined,
  }
}

function clientFor({ permission, elicitation, readFile, writeFile }: ClientAnswers): ClientApp {
  const app = client({ name: 'test' }).onNotification(methods.client.session.update, () => undefined)
  app.onRequest(methods.client.session.requestPermission, ({ params, signal }) =>
    permission === undefined ? { outcome: { outcome: 'cancelled' } } : permission(params, signal),
  )
  if (elicitation !== undefined) app.onRequest(methods.client.elicitation.create, ({ params }) => elicitation(params))
  if (readFile !== undefined)
    app.onRequest(methods.client.fs.readTextFile, async ({ params }) => ({ content: await readFile(params) }))
  if (writeFile !== undefined)
    app.onRequest(methods.client.fs.writeTextFile, ({ params }) => {
      writeFile(params)
      return {}
    })
  return app
}

/** Two ends of a connection in this process; the traffic is recorded. */
function streams(wire: Wire): [agent: Stream, client: Stream] {
  const way = (from: 'agent' | 'client') =>
    new TransformStream<AnyMessage, AnyMessage>({
      transform(message, controller) {
        // As on the wire.
        const text = JSON.stringify(message)
        wire.see(from, JSON.parse(text) as Message)
        controller.enqueue(JSON.parse(text) as AnyMessage)
      },
    })
  const [toClient, toAgent] = [way('agent'), way('client')]
  return [
    { writable: toClient.writable, readable: toAgent.readable },
    { writable: toAgent.writable, readable: toClient.readable },
  ]
}
