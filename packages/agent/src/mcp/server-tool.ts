import { type CallToolResult, UrlElicitationRequiredError } from '@modelcontextprotocol/client'
import { headOf, messageOf, wellFormed } from '@halting/core/adapters'
import type { Json, Tool, ToolContext, ToolOutput } from '@halting/core'
import { isTimedOut, type ServerTool } from './connection.ts'
import { pagesUnfinished } from './elicitation-texts.ts'
import type { McpLimits } from './limits.ts'
import * as texts from './mcp-texts.ts'
import { outputOfCall, type ShowOptions } from './results.ts'
import { type ServerHandle, SessionLost } from './server-handle.ts'

export interface ServerToolOptions extends ShowOptions {
  readonly limits: McpLimits
}

/** A server's tool as a tool of the loop. */
export function serverTool(
  name: string,
  { name: ownName, description, shown, annotations, title }: ServerTool,
  server: ServerHandle,
  options: ServerToolOptions,
): Tool {
  const fullDescription = description ?? annotations?.title ?? title ?? texts.undescribedTool(ownName, server.name)
  const { schema, ownNames, note, problems } = shown
  const isHidden = problems.length > 0 && schema['properties'] === undefined
  const notes = [
    cut(fullDescription, options.limits.descriptionCharacters),
    ...(note === undefined ? [] : [wellFormed(note)]),
    ...(isHidden ? [texts.hiddenSchema] : []),
  ]
  return {
    name,
    description: notes.join(' '),
    inputSchema: schema,
    // The server's annotation decides whether calls run in parallel. The rules decide whether they run at all (spec
    // R-MCP-6).
    readOnly: annotations?.readOnlyHint === true,
    execute: (input, context) => call(server, ownName, withOwnNames(input, ownNames), context, options),
  }
}

/** Returns the input with the server's field names. Returns a copy, because the client may change it. */
function withOwnNames(input: object, ownNames: ReadonlyMap<string, string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [ownNames.get(name) ?? name, value]))
}

const progressMs = 250

async function call(
  server: ServerHandle,
  name: string,
  input: Record<string, unknown>,
  { signal, progress }: ToolContext,
  options: ServerToolOptions,
): Promise<ToolOutput> {
  const { limits } = options
  let reportedAt = 0
  const callOnce = (): Promise<CallToolResult> =>
    server.ask(signal, (client) =>
      client.callTool(
        { name, arguments: input },
        {
          signal,
          timeout: limits.toolMs,
          // The limit also applies to a call that is repeated with the user's answer (revision 2026-07-28).
          maxTotalTimeout: limits.toolMs,
          onprogress(how) {
            const now = performance.now()
            if (now - reportedAt < progressMs) return
            reportedAt = now
            progress(progressOf(how))
          },
        },
      ),
    )
  const watch = server.elicitations.watchCall()
  try {
    const result = await callWithPages(callOnce, server, signal)
    const output = typeof result === 'string' ? { content: result, isError: true } : await outputOfCall(result, options)
    return withSentences(output, watch.end())
  } catch (thrown) {
    if (signal.aborted) throw thrown
    return withSentences({ content: problemOf(server, thrown, limits), isError: true }, watch.end())
  } finally {
    watch.end()
  }
}

/**
 * If the server refuses a call until the user has opened a page, repeats the call once after that. Returns the error
 * if the server refuses again.
 */
async function callWithPages(
  callOnce: () => Promise<CallToolResult>,
  server: ServerHandle,
  signal: AbortSignal,
): Promise<CallToolResult | string> {
  try {
    return await callOnce()
  } catch (thrown) {
    if (!(thrown instanceof UrlElicitationRequiredError)) throw thrown
    const opened = await server.elicitations.openPages(thrown.elicitations, signal)
    if ('problem' in opened) return opened.problem
    try {
      return await callOnce()
    } catch (again) {
      if (again instanceof UrlElicitationRequiredError) return pagesUnfinished(server.name, opened.hosts)
      throw again
    }
  }
}

function withSentences(output: ToolOutput, sentences: readonly string[]): ToolOutput {
  if (sentences.length === 0) return output
  const text = sentences.join('\n')
  const { content } = output
  return {
    ...output,
    content: typeof content === 'string' ? `${content}\n${text}` : [...content, { type: 'text', text }],
  }
}

function progressOf({
  progress,
  total,
  message,
}: {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}): Json {
  return {
    progress,
    ...(total !== undefined && { total }),
    ...(message !== undefined && { message: cut(message, 500) }),
  }
}

function problemOf(server: ServerHandle, thrown: unknown, limits: McpLimits): string {
  const words = cut(messageOf(thrown).replace(/\s+/g, ' '), 1_000)
  if (thrown instanceof SessionLost) return words
  // Servers also report their own timeouts.
  if (isTimedOut(thrown)) return texts.timedOut(server.name, limits.toolMs / 1_000)
  if (server.status !== 'connected' && server.problem !== undefined)
    return texts.connectionLost(server.name, cut(server.problem, 500))
  return words
}

function cut(text: string, most: number): string {
  return wellFormed(text.length <= most ? text : `${headOf(text, most)} [...]`)
}
