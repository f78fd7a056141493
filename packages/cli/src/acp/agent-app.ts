import { isAbsolute } from 'node:path'
import {
  type AgentApp,
  type AgentContext,
  agent,
  type ClientCapabilities,
  type InitializeResponse,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type McpServer,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type AuthMethod,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { createKeyRedactor } from '@halting/models'
import type { Program } from '../program.ts'
import { AcpSession } from './acp-session.ts'
import { invalidParamsError, requestError, missingKeyError } from './errors.ts'
import type { SessionOpener } from './session-opener.ts'
import { listSessions, removeSession } from './session-list.ts'
import type { MissingKeyError } from '../flags/missing-key.ts'
import type { TranscriptEntry } from '@halting/core'
import { isOfPerson, isToolResult, isToolUse } from '@halting/core/adapters'
import { CallUpdates } from './call-updates.ts'
import { promptBlocksOf } from './prompt-content.ts'
import { ReplyText } from './reply-text.ts'

export interface AppOptions {
  readonly opener: SessionOpener
  readonly program: Pick<Program, 'cwd' | 'env'>
  readonly version: string
}

/** The program as an ACP agent, with the open sessions of its client. */
export interface ServedAgent {
  readonly app: AgentApp
  /** Closes every session. Resolves when nothing is running. */
  closeAll(): Promise<void>
}

/** What a client requests of a session that it opens. */
interface Wanted {
  readonly cwd: string
  readonly additionalDirectories?: readonly string[] | null
  readonly mcpServers?: readonly McpServer[] | null
}

export function serveAgent({ opener, program, version }: AppOptions): ServedAgent {
  const sessions = new ClientSessions(opener, createKeyRedactor(program.env))
  const app = agent({ name: 'halting' })
    .onRequest(methods.agent.initialize, async ({ params }) => {
      const capabilities = params.clientCapabilities ?? {}
      sessions.capabilities = capabilities
      const authMethods = authMethodsFor(await sessions.track(Promise.resolve(opener.missingKey?.())), capabilities)
      return { ...initialized(params.protocolVersion, version), authMethods }
    })
    .onRequest(methods.agent.session.new, async ({ params, client }) => {
      const session = await sessions.open(params, client)
      return { sessionId: session.id, ...session.settings }
    })
    .onRequest(methods.agent.session.load, async ({ params, client }) => (await sessions.load(params, client)).settings)
    .onRequest(
      methods.agent.session.resume,
      async ({ params, client }) => (await sessions.resume(params, client)).settings,
    )
    .onRequest(methods.agent.session.list, ({ params }) => listed(params, opener, program))
    .onRequest(methods.agent.session.close, async ({ params }) => {
      await sessions.close(params.sessionId)
      return {}
    })
    .onRequest(methods.agent.session.delete, async ({ params }) => {
      await sessions.close(params.sessionId)
      try {
        await (opener.remove?.(params.sessionId) ?? removeSession(params.sessionId, program))
      } catch (thrown) {
        throw requestError(thrown)
      }
      return {}
    })
    .onRequest(methods.agent.session.prompt, ({ params, signal }) =>
      sessions.require(params.sessionId).prompt(params.prompt, signal),
    )
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.cancel())
    .onRequest(methods.agent.session.setMode, ({ params }) => {
      sessions.require(params.sessionId).setMode(params.modeId)
      return {}
    })
    .onRequest(methods.agent.session.setConfigOption, ({ params }) => ({
      configOptions: sessions.require(params.sessionId).setOption(params.configId, params.value),
    }))
    .onRequest(methods.agent.authenticate, ({ params }) =>
      authenticate(params.methodId, async () => opener.missingKey?.()),
    )
  return { app, closeAll: () => sessions.closeAll() }
}

/** The sessions that a client has open. */
class ClientSessions {
  /** The capabilities that the client declared in `initialize`. */
  capabilities: ClientCapabilities = {}
  readonly #opener: SessionOpener
  readonly #redact: (text: string) => string
  readonly #sessions = new Map<string, AcpSession>()
  /** Requests that `closeAll` waits for. */
  readonly #pending = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(opener: SessionOpener, redact: (text: string) => string) {
    this.#opener = opener
    this.#redact = redact
  }

  get(sessionId: string): AcpSession | undefined {
    return this.#sessions.get(sessionId)
  }

  /** @throws RequestError for a session that is not open. */
  require(sessionId: string): AcpSession {
    const session = this.#sessions.get(sessionId)
    if (session === undefined) throw RequestError.sessionNotFound(sessionId)
    return session
  }

  /** Makes `closeAll` wait until the promise settles. */
  track<Answer>(answer: Promise<Answer>): Promise<Answer> {
    this.#pending.add(answer)
    const forget = (): void => void this.#pending.delete(answer)
    answer.then(forget, forget)
    return answer
  }

  open(wanted: Wanted, client: AgentContext, resume?: string): Promise<AcpSession> {
    return this.track(this.#open(wanted, client, resume))
  }

  /** Opens a stored session, and sends the client its conversation. */
  async load(params: Wanted & { readonly sessionId: string }, client: AgentContext): Promise<AcpSession> {
    const { sessionId, cwd } = params
    const present = this.#sessions.get(sessionId)
    if (present !== undefined) {
      const history = await this.#opener.history(sessionId)
      // The conversation is empty, or the session is not stored.
      if (history === undefined || history.entries.length === 0) return present
      // A client may load a session that it already has open. The session is then closed, so that all of it is on disk, and opened again.
      await this.close(sessionId)
    }
    const stored = await this.#opener.history(sessionId)
    if (stored === undefined) throw RequestError.sessionNotFound(sessionId)
    const session = await this.open(params, client, sessionId)
    await session.send(replayOf(stored.entries, cwd))
    return session
  }

  /** Opens a stored session without sending its conversation. */
  async resume(params: Wanted & { readonly sessionId: string }, client: AgentContext): Promise<AcpSession> {
    const present = this.#sessions.get(params.sessionId)
    if (present !== undefined) return present
    if ((await this.#opener.history(params.sessionId)) === undefined)
      throw RequestError.sessionNotFound(params.sessionId)
    return this.open(params, client, params.sessionId)
  }

  async close(sessionId: string): Promise<void> {
    const session = this.#sessions.get(sessionId)
    this.#sessions.delete(sessionId)
    await session?.close()
  }

  async closeAll(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled([...[...this.#sessions.keys()].map((id) => this.close(id)), ...this.#pending])
  }

  async #open(wanted: Wanted, client: AgentContext, resume?: string): Promise<AcpSession> {
    const { cwd, additionalDirectories, mcpServers } = wanted
    const { capabilities } = this
    for (const path of [cwd, ...(additionalDirectories ?? [])])
      if (!isAbsolute(path)) throw invalidParamsError(`The directory of a session must be an absolute path: "${path}".`)
    const opened = await this.#opener
      .open({
        cwd,
        additionalDirectories: additionalDirectories ?? [],
        servers: mcpServers ?? [],
        client,
        capabilities,
        ...(resume !== undefined && { resume }),
      })
      .catch((thrown: unknown) => {
        throw requestError(thrown)
      })
    const redact = this.#redact
    const session = new AcpSession(opened, client, { capabilities, hasTitle: resume !== undefined, redact })
    // The connection may have closed in the meantime.
    if (this.#isClosed) await session.close()
    else this.#sessions.set(session.id, session)
    // The client knows the session only after it has the response.
    setImmediate(() => session.sendInitialUpdates())
    return session
  }
}

async function listed(
  params: ListSessionsRequest,
  opener: SessionOpener,
  program: AppOptions['program'],
): Promise<ListSessionsResponse> {
  const sessions = await (opener.list?.(params) ?? listSessions(params, program)).catch((thrown: unknown) => {
    throw requestError(thrown)
  })
  if (sessions === undefined) throw invalidParamsError(`Invalid cursor for the list of sessions: "${params.cursor}".`)
  return sessions
}

function initialized(clientVersion: number, version: string): InitializeResponse {
  return {
    protocolVersion: Math.min(clientVersion, PROTOCOL_VERSION),
    agentInfo: { name: 'halting', title: 'Halting', version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, additionalDirectories: {} },
    },
  }
}

// Keys come from the environment and from settings. The editor never receives one.

const inTerminal = 'setup'
const byEnvironment = 'environment'

/** The methods to provide a missing key (spec R-ACP-19). */
function authMethodsFor(
  missing: MissingKeyError | undefined,
  { auth }: Pick<ClientCapabilities, 'auth'>,
): AuthMethod[] {
  if (missing === undefined) return []
  const [variable = 'the key of its service'] = missing.keyVariables
  const setup: AuthMethod = {
    type: 'terminal',
    id: inTerminal,
    name: 'Set up in a terminal',
    description: 'Finds keys, models on this machine and settings of other agents, and writes your choice.',
    // Appended to the command line of `halting acp`.
    args: ['setup'],
  }
  const environment: AuthMethod = {
    id: byEnvironment,
    name: 'Check for a key again',
    description: `Set ${variable} for this agent in the settings of the editor, or run halting setup in a terminal. Then choose this.`,
  }
  return auth?.terminal === true ? [setup, environment] : [environment]
}

/** Answers `authenticate`. @throws RequestError if the key is still missing, or the method is unknown. */
async function authenticate(
  methodId: string,
  missingKey: () => Promise<MissingKeyError | undefined>,
): Promise<Record<string, never>> {
  if (methodId === inTerminal)
    throw invalidParamsError(
      'The method "setup" is run by the client, in a terminal: its args follow the call of the agent.',
    )
  if (methodId !== byEnvironment) throw invalidParamsError(`There is no authentication method "${methodId}".`)
  const missing = await missingKey()
  if (missing !== undefined) throw missingKeyError(missing)
  return {}
}

/** The updates that replay a stored conversation, including parts that the model no longer receives (spec R-ACP-8). */
export function replayOf(entries: Iterable<TranscriptEntry>, cwd: string): readonly SessionUpdate[] {
  const [reply, calls] = [new ReplyText(), new CallUpdates(cwd)]
  const updates: SessionUpdate[] = []
  for (const entry of entries) {
    if (entry.kind === 'assistant') {
      const { content } = entry.message
      updates.push(...reply.message(entry.id, content))
      for (const { id, name, input } of content.filter(isToolUse)) updates.push(...calls.announce(id, name, input))
    }
    if (entry.kind !== 'user') continue
    const { content } = entry.message
    if (isOfPerson(entry))
      for (const block of promptBlocksOf(content))
        updates.push({ sessionUpdate: 'user_message_chunk', content: block, messageId: entry.id })
    if (typeof content === 'string') continue
    for (const { tool_use_id: id, content: result, is_error: isError } of content.filter(isToolResult))
      updates.push(...calls.result(id, result, isError === true, entry.details?.[id]))
  }
  return [...updates, ...calls.closeAll('The outcome of this call is unknown.')]
}
