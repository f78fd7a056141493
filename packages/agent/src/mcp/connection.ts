import { setImmediate } from 'node:timers/promises'
import { type Client, type Prompt, SdkError, SdkErrorCode, SdkHttpError, type Tool } from '@modelcontextprotocol/client'
import type { JsonObject } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { McpServerConfig } from './config.ts'
import type { McpLimits } from './limits.ts'
import type { ConnectionPlace } from './connection-place.ts'
import { Link } from './link.ts'
import * as texts from './connection-texts.ts'
import { NeedsSignIn } from './needs-sign-in.ts'
import type { Reports } from './repair/reports.ts'
import { nameFor } from './repair/values.ts'
import { type ShownSchema, shownSchemaOf } from './schema/shown-schema.ts'
import type { StdioTransport } from './stdio-transport.ts'
import { timeLimit } from '../time-limit.ts'
import { rejectOnAbort } from './reject-on-abort.ts'

/** A tool of a server, with its input schema as shown to a model. */
export type ServerTool = Tool & { readonly shown: ShownSchema }

/** The tools, prompts and other items that a server currently offers. */
export interface Offered {
  readonly tools: readonly ServerTool[]
  readonly prompts: readonly Prompt[]
  readonly hasResources: boolean
  /** Problems of list items that are omitted or shown without their fields, one clause each. */
  readonly problems: readonly string[]
}

/** A connected server. */
export interface Connection {
  readonly client: Client
  /** Problems of its lists. */
  readonly reports: Reports
  readonly offered: Offered
  /** Requests its lists again. */
  reload(signal: AbortSignal): Promise<Offered>
  /** Whether an error means that the server has lost the session, for example after a restart. */
  hasLostSession(thrown: unknown): boolean
  /** Returns what the user must do about an error if the server requires a permission that was not granted. */
  denial(thrown: unknown): Promise<NeedsSignIn | undefined>
  /** Resolves when all resources of the connection are released. */
  close(): Promise<void>
}

export interface ConnectionEvents {
  /** The server closed the connection. */
  onGone(problem: string): void
  onListChanged(): void
}

/**
 * Connects and requests the lists, within the time limit.
 * @throws Error with a message for the user
 */
export async function connect(
  server: McpServerConfig,
  place: ConnectionPlace,
  events: ConnectionEvents,
  signal: AbortSignal,
): Promise<Connection> {
  const limit = timeLimit(place.limits.connectMs, signal)
  const inTime = limit.signal
  const link = new Link(server, place)
  const { reports } = link
  const watching = new AbortController()
  let isReady = false
  let isClosed = false
  const close = async (): Promise<void> => {
    isClosed = true
    watching.abort(new Error('the connection is closed'))
    await link.close()
  }
  try {
    const client = await rejectOnAbort(link.open({ signal: inTime, timeout: place.limits.connectMs }), inTime)
    Object.assign(client, {
      onclose: () => {
        if (isReady && !isClosed) events.onGone(link.stdio?.problem ?? texts.connectionClosed)
      },
    })
    const look = (within: AbortSignal): Promise<Offered> =>
      rejectOnAbort(offeredBy(client, reports, place.limits, within), within)
    const offered = await look(inTime)
    for (const method of listChanged) client.setNotificationHandler(method, () => events.onListChanged())
    isReady = true
    void watchLists(client, place.limits, () => events.onListChanged(), watching.signal)
    const hasLostSession = (thrown: unknown): boolean =>
      thrown instanceof SdkHttpError && thrown.status === 404 && link.sessionId !== undefined
    return { client, reports, offered, reload: look, hasLostSession, denial: (thrown) => link.denial(thrown), close }
  } catch (thrown) {
    const problem =
      (await link.denial(thrown)) ??
      problemOf(thrown, { stdio: link.stdio, isLate: inTime.aborted && !signal.aborted, place })
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

/** Maximum time for processing schemas before other work may run; a single schema may take longer. */
const maxBusyMs = 20

async function offeredBy(client: Client, reports: Reports, limits: McpLimits, signal: AbortSignal): Promise<Offered> {
  const options = { signal, timeout: limits.connectMs, cacheMode: 'refresh' } as const
  const capabilities = client.getServerCapabilities() ?? {}
  const [tools, prompts] = await Promise.all([
    capabilities.tools === undefined ? [] : client.listTools(undefined, options).then((list) => list.tools),
    // Tools are what matters, so a failure of the prompts does not fail the server.
    capabilities.prompts === undefined
      ? []
      : client.listPrompts(undefined, options).then(
          (list) => list.prompts,
          () => [],
        ),
  ])
  const shown: ServerTool[] = []
  let restedAtMs = performance.now()
  for (const tool of tools.slice(0, limits.tools)) {
    // Many large schemas take seconds: keyboard input and other servers must not wait, and the connection timeout must
    // take effect.
    if (performance.now() - restedAtMs > maxBusyMs) {
      await setImmediate()
      signal.throwIfAborted()
      restedAtMs = performance.now()
    }
    // The schema was received as JSON.
    const schema = shownSchemaOf(tool.inputSchema as JsonObject)
    const [problem, ...more] = schema.problems
    const also = more.length > 0 ? `, and ${more.length} more` : ''
    if (problem !== undefined)
      reports.add(
        'tools/list',
        `its tool ${nameFor(tool.name)} is shown without a part of its input schema: ${problem.slice(0, 200)}${also}`,
      )
    shown.push({ ...tool, shown: schema })
  }
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
    return new NeedsSignIn(texts.signInAdvice(name, stdio === undefined && signIns !== undefined))
  const stderrNote = stdio?.lastWords === undefined || stdio.lastWords === '' ? '' : `; it said: ${stdio.lastWords}`
  if (stdio?.problem !== undefined) return new Error(`${stdio.problem}${stderrNote}`)
  if (isLate || isTimedOut(thrown))
    return new Error(`it did not answer within ${limits.connectMs / 1_000} s (MCP_TIMEOUT)${stderrNote}`)
  if (code === 'ENOENT') return new Error('the program was not found')
  return new Error(`${words.replace(/\s+/g, ' ').slice(0, 300)}${stderrNote}`)
}

/** Whether a request timed out, according to our clock and not the server's message. */
export function isTimedOut(thrown: unknown): boolean {
  return thrown instanceof SdkError && thrown.code === SdkErrorCode.RequestTimeout
}

/**
 * Listens for changed lists. In revisions before 2026-07-28, servers send these notifications without a request; later
 * revisions require a subscription. A subscription that ends is renewed, each time after a longer delay. Never
 * rejects.
 */
async function watchLists(
  client: Client,
  { connectMs, reconnectMs, stableMs }: McpLimits,
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {}
  const filter = {
    ...(tools?.listChanged === true && { toolsListChanged: true }),
    ...(prompts?.listChanged === true && { promptsListChanged: true }),
    ...(resources?.listChanged === true && { resourcesListChanged: true }),
  }
  if (client.getProtocolEra() !== 'modern' || Object.keys(filter).length === 0) return
  for (let tries = 0; !signal.aborted; tries++) {
    const begun = performance.now()
    try {
      const subscription = await client.listen(filter, { timeout: connectMs, signal })
      // Changes in between were not reported.
      if (tries > 0) onChange()
      await subscription.closed
    } catch {
      // The subscription is retried, like one that ended.
    }
    if (performance.now() - begun > stableMs) tries = 0
    const delay = reconnectMs[tries]
    if (delay === undefined) return
    await pause(delay, signal)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    // Does not keep the process running, because no caller waits for the result.
    const timer = setTimeout(done, ms).unref()
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
  })
}
