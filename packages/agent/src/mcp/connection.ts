import { pathToFileURL } from 'node:url'
import {
  Client,
  InMemoryTransport,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
} from '@modelcontextprotocol/client'
import type { Prompt, Tool, Transport } from '@modelcontextprotocol/client'
import type { JsonObject } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { boundedFetch } from './bounded-fetch.ts'
import type { McpServerConfig } from './config.ts'
import { HttpTransport } from './http-transport.ts'
import type { McpLimits } from './limits.ts'
import { settledWithin, timeLimit } from '../time-limit.ts'
import { NeedsSignIn, signInAdvice } from './needs-sign-in.ts'
import { Reports } from './repair/reports.ts'
import { TolerantTransport } from './repair/tolerant-transport.ts'
import type { SignIns } from './sign-in/sign-ins.ts'
import { tokenSource } from './sign-in/token-source.ts'
import { type StdioPlace, StdioTransport } from './stdio-transport.ts'
import { type ShownSchema, shownSchemaOf } from './schema/shown-schema.ts'
import { nameFor } from './repair/values.ts'

/** What a server asks a person, by way of the tool that it runs. */
export interface ElicitationRequest {
  readonly message: string
  /** JSON Schema of what it wants to know. */
  readonly requestedSchema?: unknown
}

export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: { readonly [field: string]: string | number | boolean | readonly string[] }
}

export interface ConnectionPlace extends StdioPlace {
  /** What the server is called here. */
  readonly name: string
  /** Who a person is at servers; without it no server is told. */
  readonly signIns?: SignIns | undefined
  readonly directories: readonly string[]
  readonly limits: McpLimits
  readonly version: string
  /** Asks a person; without it every question is declined. */
  readonly elicit?: ((request: ElicitationRequest, signal: AbortSignal) => Promise<ElicitationAnswer>) | undefined
}

/** A tool as its server offers it, with its input schema as a model is shown it. */
export type ServerTool = Tool & { readonly shown: ShownSchema }

/** What a server offers, as it said last. */
export interface Offered {
  readonly tools: readonly ServerTool[]
  readonly prompts: readonly Prompt[]
  readonly hasResources: boolean
  /** What of its lists is left out, or shown without its fields: a clause each. */
  readonly problems: readonly string[]
}

/** A server that is connected. */
export interface Connection {
  readonly client: Client
  /** What of its lists could not be used. */
  readonly reports: Reports
  readonly offered: Offered
  /** Asks anew what it offers. */
  look(signal: AbortSignal): Promise<Offered>
  /** Whether an error says that the server does not know the session any more, as one that was started anew does. */
  hasLostSession(thrown: unknown): boolean
  /** Resolves when nothing of the connection is left. */
  close(): Promise<void>
}

export interface ConnectionEvents {
  /** It is gone, by its own doing. */
  onGone(problem: string): void
  onListChanged(): void
}

/** Connects and asks what there is, all within the time for that. @throws Error in words for a person */
export async function connect(
  server: McpServerConfig,
  place: ConnectionPlace,
  events: ConnectionEvents,
  signal: AbortSignal,
): Promise<Connection> {
  const limit = timeLimit(place.limits.connectMs, signal)
  const inTime = limit.signal
  const { transport, stdio, opened } = transportTo(server, place)
  const client = clientFor(place)
  const reports = new Reports()
  let isReady = false
  let isClosed = false
  const close = async (): Promise<void> => {
    isClosed = true
    // One that hangs while it is closed holds nobody up; a process is ended in any case.
    await settledWithin(client.close(), place.killGraceMs)
    await stdio?.close()
    const closing = server.type === 'sdk' ? server.instance.close?.() : undefined
    if (closing !== undefined) await settledWithin(closing, place.killGraceMs)
  }
  Object.assign(client, {
    onclose: () => {
      if (isReady && !isClosed) events.onGone(stdio?.problem ?? 'the connection ended')
    },
    // What breaks a connection ends it, and is told then.
    onerror: () => undefined,
  })
  try {
    const options = { signal: inTime, timeout: place.limits.connectMs }
    await unlessAborted(
      (async () => {
        await opened?.()
        await client.connect(
          new TolerantTransport(transport, (method, problem) => reports.add(method, problem)),
          options,
        )
      })(),
      inTime,
    )
    const look = (within: AbortSignal): Promise<Offered> =>
      unlessAborted(offeredBy(client, reports, place.limits, within), within)
    const offered = await look(inTime)
    for (const method of listChanged) client.setNotificationHandler(method, () => events.onListChanged())
    isReady = true
    const hasLostSession = (thrown: unknown): boolean =>
      thrown instanceof SdkHttpError && thrown.status === 404 && transport.sessionId !== undefined
    return { client, reports, offered, look, hasLostSession, close }
  } catch (thrown) {
    const problem = problemOf(thrown, { stdio, isLate: inTime.aborted && !signal.aborted, place })
    await close()
    throw problem
  } finally {
    limit.clear()
  }
}

const listChanged = [
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
] as const

function clientFor({ version, directories, elicit, limits }: ConnectionPlace): Client {
  const client = new Client(
    { name: 'halting', version },
    {
      capabilities: { roots: {}, elicitation: {} },
      // No schema of a server comes here: its `outputSchema` is dropped (`repair`). The client's own validator would be loaded for nothing.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
      listMaxPages: 50,
    },
  )
  client.setRequestHandler('roots/list', () => ({
    roots: directories.map((path) => ({ uri: pathToFileURL(path).href })),
  }))
  client.setRequestHandler('elicitation/create', async (request, { mcpReq }) => {
    const { params } = request
    if (elicit === undefined || !('requestedSchema' in params)) return { action: 'decline' as const }
    const { message, requestedSchema } = params
    // A question that nobody answers holds up the server as long as a call may take, and not longer.
    const limit = timeLimit(limits.toolMs, mcpReq.signal)
    const asked = elicit({ message, requestedSchema }, limit.signal)
    const { action, content } = await answerWithin(asked, limit.signal).finally(() => limit.clear())
    // A copy, which the client may write to.
    return { action, ...(content !== undefined && { content: structuredClone(content) as Record<string, string> }) }
  })
  return client
}

function answerWithin(answer: Promise<ElicitationAnswer>, signal: AbortSignal): Promise<ElicitationAnswer> {
  return unlessAborted(answer, signal).catch((thrown: unknown): ElicitationAnswer => {
    if (signal.aborted) return { action: 'cancel' }
    throw thrown
  })
}

interface Way {
  readonly transport: Transport
  readonly stdio?: StdioTransport
  /** Has the other end listen. */
  readonly opened?: () => Promise<void>
}

function transportTo(server: McpServerConfig, place: ConnectionPlace): Way {
  if (server.type === 'stdio') {
    const stdio = new StdioTransport(server, place)
    return { transport: stdio, stdio }
  }
  if (server.type === 'sdk') {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    // It is a transport for either version of the SDK.
    return { transport: ours, opened: () => server.instance.connect(theirs as never) }
  }
  const { signIns, name, messageBytes } = place
  const url = new URL(server.url)
  // Who gave a header has said who is asking.
  const isSigned = Object.keys(server.headers).some((header) => header.toLowerCase() === 'authorization')
  const options = {
    requestInit: { headers: { ...server.headers } },
    fetch: boundedFetch(messageBytes),
    ...(signIns !== undefined &&
      !isSigned && { authProvider: tokenSource({ url: server.url, signIns, advice: signInAdvice(name, true) }) }),
  }
  const transport = server.type === 'sse' ? new SSEClientTransport(url, options) : new HttpTransport(url, options)
  return { transport }
}

async function offeredBy(client: Client, reports: Reports, limits: McpLimits, signal: AbortSignal): Promise<Offered> {
  const options = { signal, timeout: limits.connectMs, cacheMode: 'bypass' } as const
  const capabilities = client.getServerCapabilities() ?? {}
  const [tools, prompts] = await Promise.all([
    capabilities.tools === undefined ? [] : client.listTools(undefined, options).then((list) => list.tools),
    // Tools are what a server is for: without its prompts it is as good.
    capabilities.prompts === undefined
      ? []
      : client.listPrompts(undefined, options).then(
          (list) => list.prompts,
          () => [],
        ),
  ])
  const shown = tools.slice(0, limits.tools).map((tool) => {
    // It came as JSON.
    const schema = shownSchemaOf(tool.inputSchema as JsonObject)
    const [problem, ...more] = schema.problems
    const also = more.length > 0 ? `, and ${more.length} more` : ''
    if (problem !== undefined)
      reports.add(
        'tools/list',
        `its tool ${nameFor(tool.name)} is shown without a part of its input schema: ${problem.slice(0, 200)}${also}`,
      )
    return { ...tool, shown: schema }
  })
  return {
    tools: shown,
    prompts: prompts.slice(0, limits.tools),
    hasResources: capabilities.resources !== undefined,
    problems: [...reports.take('tools/list'), ...reports.take('prompts/list')],
  }
}

function problemOf(
  thrown: unknown,
  {
    stdio,
    isLate,
    place: { limits, name, signIns },
  }: { readonly stdio: StdioTransport | undefined; readonly isLate: boolean; readonly place: ConnectionPlace },
): Error {
  if (thrown instanceof NeedsSignIn) return thrown
  const { code, status } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Readonly<
    Record<string, unknown>
  >
  const words = messageOf(thrown)
  if ([status, code].some((one) => one === 401 || one === 403) || /unauthorized/i.test(words))
    return new NeedsSignIn(signInAdvice(name, stdio === undefined && signIns !== undefined))
  const said = stdio?.lastWords === undefined || stdio.lastWords === '' ? '' : `; it said: ${stdio.lastWords}`
  if (stdio?.problem !== undefined) return new Error(`${stdio.problem}${said}`)
  if (isLate || isTimedOut(thrown))
    return new Error(`it did not answer within ${limits.connectMs / 1_000} s (MCP_TIMEOUT)${said}`)
  if (code === 'ENOENT') return new Error('there is no such program')
  return new Error(`${words.replace(/\s+/g, ' ').slice(0, 300)}${said}`)
}

/** Whether the time for an answer is over, by our clock and not by the server's words. */
export function isTimedOut(thrown: unknown): boolean {
  return thrown instanceof SdkError && thrown.code === SdkErrorCode.RequestTimeout
}

/** Nobody is waited for longer than the signal says, whatever the other side does. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
