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

/** The program as an agent of the protocol, with the sessions that its client has open. */
export interface ServedAgent {
  readonly app: AgentApp
  /** Ends every session. Resolves when nothing goes on. */
  closeAll(): Promise<void>
}

/** What a client wants a session to have. */
interface Wanted {
  readonly cwd: string
  readonly additionalDirectories?: readonly string[] | null
  readonly mcpServers?: readonly McpServer[] | null
}

/** Adds the answer to what `closeAll` waits for, until it settles. */
function tracked<Answer>(pending: Set<Promise<unknown>>, answer: Promise<Answer>): Promise<Answer> {
  pending.add(answer)
  const forget = (): void => void pending.delete(answer)
  answer.then(forget, forget)
  return answer
}

export function serveAgent({ opener, program, version }: AppOptions): ServedAgent {
  const sessions = new Map<string, AcpSession>()
  const redact = createKeyRedactor(program.env)
  let capabilities: ClientCapabilities = {}
  const openings = new Set<Promise<unknown>>()
  let isClosed = false

  const known = (sessionId: string): AcpSession => {
    const session = sessions.get(sessionId)
    if (session === undefined) throw RequestError.sessionNotFound(sessionId)
    return session
  }
  const close = async (sessionId: string): Promise<void> => {
    const session = sessions.get(sessionId)
    sessions.delete(sessionId)
    await session?.close()
  }
  const open = (wanted: Wanted, client: AgentContext, resume?: string): Promise<AcpSession> =>
    tracked(openings, opened(wanted, client, resume))
  const opened = async (wanted: Wanted, client: AgentContext, resume?: string): Promise<AcpSession> => {
    const { cwd, additionalDirectories, mcpServers } = wanted
    for (const path of [cwd, ...(additionalDirectories ?? [])])
      if (!isAbsolute(path)) throw invalidParamsError(`The directory of a session must be an absolute path: "${path}".`)
    const made = await opener
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
    const session = new AcpSession(made, client, { capabilities, hasTitle: resume !== undefined, redact })
    // The connection may be gone by now.
    if (isClosed) await session.close()
    else sessions.set(session.id, session)
    // The client knows the session once it has the answer.
    setImmediate(() => session.sendInitialUpdates())
    return session
  }

  const app = agent({ name: 'halting' })
    .onRequest(methods.agent.initialize, async ({ params }) => {
      capabilities = params.clientCapabilities ?? {}
      const authMethods = authMethodsFor(await tracked(openings, Promise.resolve(opener.missingKey?.())), capabilities)
      return { ...initialized(params.protocolVersion, version), authMethods }
    })
    .onRequest(methods.agent.session.new, async ({ params, client }) => {
      const session = await open(params, client)
      return { sessionId: session.id, ...session.settings }
    })
    .onRequest(methods.agent.session.load, async ({ params, client }) => {
      const { sessionId, cwd } = params
      const present = sessions.get(sessionId)
      if (present !== undefined) {
        const said = await opener.history(sessionId)
        // Nothing was said in it, or it is not kept.
        if (said === undefined || said.entries.length === 0) return present.settings
        // A client that loads what it has open begins anew, once all of it is on disk.
        await close(sessionId)
      }
      const kept = await opener.history(sessionId)
      if (kept === undefined) throw RequestError.sessionNotFound(sessionId)
      const session = await open(params, client, sessionId)
      await session.send(replayOf(kept.entries, cwd))
      return session.settings
    })
    .onRequest(methods.agent.session.resume, async ({ params, client }) => {
      const present = sessions.get(params.sessionId)
      if (present !== undefined) return present.settings
      if ((await opener.history(params.sessionId)) === undefined) throw RequestError.sessionNotFound(params.sessionId)
      return (await open(params, client, params.sessionId)).settings
    })
    .onRequest(methods.agent.session.list, ({ params }) => listed(params, opener, program))
    .onRequest(methods.agent.session.close, async ({ params }) => {
      await close(params.sessionId)
      return {}
    })
    .onRequest(methods.agent.session.delete, async ({ params }) => {
      await close(params.sessionId)
      try {
        await (opener.remove?.(params.sessionId) ?? removeSession(params.sessionId, program))
      } catch (thrown) {
        throw requestError(thrown)
      }
      return {}
    })
    .onRequest(methods.agent.session.prompt, ({ params, signal }) =>
      known(params.sessionId).prompt(params.prompt, signal),
    )
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.cancel())
    .onRequest(methods.agent.session.setMode, ({ params }) => {
      known(params.sessionId).setMode(params.modeId)
      return {}
    })
    .onRequest(methods.agent.session.setConfigOption, ({ params }) => ({
      configOptions: known(params.sessionId).setOption(params.configId, params.value),
    }))
    .onRequest(methods.agent.authenticate, ({ params }) =>
      authenticate(params.methodId, async () => opener.missingKey?.()),
    )

  return {
    app,
    async closeAll() {
      isClosed = true
      await Promise.allSettled([...[...sessions.keys()].map(close), ...openings])
    },
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

function initialized(theirs: number, version: string): InitializeResponse {
  return {
    protocolVersion: Math.min(theirs, PROTOCOL_VERSION),
    agentInfo: { name: 'halting', title: 'Halting', version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, additionalDirectories: {} },
    },
  }
}

// A key is read from the environment and from settings. The editor itself never receives one.

const inTerminal = 'setup'
const byEnvironment = 'environment'

/** The ways to a key, where one is missing (spec R-ACP-19). */
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
    // Appended to the call of `halting acp`.
    args: ['setup'],
  }
  const environment: AuthMethod = {
    id: byEnvironment,
    name: 'Check for a key again',
    description: `Set ${variable} for this agent in the settings of the editor, or run halting setup in a terminal. Then choose this.`,
  }
  return auth?.terminal === true ? [setup, environment] : [environment]
}

/** Answers `authenticate`. @throws RequestError where the key is still missing, or the method is not one of these. */
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

/** What a client is told of an earlier conversation: all that was said, also what the model is shown no more (spec R-ACP-8). */
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
