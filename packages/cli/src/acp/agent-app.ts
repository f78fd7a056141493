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
} from '@agentclientprotocol/sdk'
import { createKeyRedactor } from '@halting/models'
import type { Program } from '../program.ts'
import { AcpSession } from './acp-session.ts'
import { authenticate, authMethodsFor } from './authentication.ts'
import { invalid, requestError } from './errors.ts'
import type { Opener } from './opener.ts'
import { replayOf } from './replay.ts'
import { listSessions, removeSession } from './session-list.ts'

export interface AppOptions {
  readonly opener: Opener
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
  /** Has the connection stay open until the answer is there. */
  const awaited = <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    openings.add(answer)
    const forget = (): void => void openings.delete(answer)
    answer.then(forget, forget)
    return answer
  }
  const open = (wanted: Wanted, client: AgentContext, resume?: string): Promise<AcpSession> =>
    awaited(opened(wanted, client, resume))
  const opened = async (wanted: Wanted, client: AgentContext, resume?: string): Promise<AcpSession> => {
    const { cwd, additionalDirectories, mcpServers } = wanted
    for (const path of [cwd, ...(additionalDirectories ?? [])])
      if (!isAbsolute(path)) throw invalid(`The directory of a session must be an absolute path: "${path}".`)
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
    setImmediate(() => session.tellBeginning())
    return session
  }

  const app = agent({ name: 'halting' })
    .onRequest(methods.agent.initialize, async ({ params }) => {
      capabilities = params.clientCapabilities ?? {}
      const authMethods = authMethodsFor(await awaited(Promise.resolve(opener.missingKey?.())), capabilities)
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
      await session.tell(replayOf(kept.entries, cwd))
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
  opener: Opener,
  program: AppOptions['program'],
): Promise<ListSessionsResponse> {
  const sessions = await (opener.list?.(params) ?? listSessions(params, program)).catch((thrown: unknown) => {
    throw requestError(thrown)
  })
  if (sessions === undefined) throw invalid(`Invalid cursor for the list of sessions: "${params.cursor}".`)
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
