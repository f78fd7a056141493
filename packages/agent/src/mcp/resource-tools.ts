import { messageOf, wellFormed } from '@halting/core/adapters'
import type { Tool, ToolContext, ToolOutput } from '@halting/core'
import { filledText, inputForm, optional } from '../tools/input.ts'
import * as texts from './mcp-texts.ts'
import { shownResources } from './results.ts'
import type { ServerHandle } from './server-handle.ts'
import type { ServerToolOptions } from './server-tool.ts'

interface ListInput {
  readonly server?: string
}

interface ReadInput {
  readonly server: string
  readonly uri: string
}

/** Maximum number of lines of one list. */
const maxResources = 200

/** Lists the resources of servers. */
export function createListResources(
  servers: () => readonly ServerHandle[],
  options: ServerToolOptions,
): Tool<ListInput> {
  const form = inputForm<ListInput>('ListMcpResources', {
    server: optional(filledText('The server whose resources to list (default: all)')),
  })
  return {
    name: 'ListMcpResources',
    description: 'Lists the resources of MCP servers: files, records, pages. Read one with ReadMcpResource.',
    inputSchema: form.schema,
    readOnly: true,
    validate: (input) => form.validate(input),
    async execute({ server }, context) {
      const queried = servers().filter(
        ({ name, offered }) => offered.hasResources && (server === undefined || name === server),
      )
      if (queried.length === 0) return noServer(server, servers())
      const lists = await Promise.all(queried.map((each) => listed(each, context, options)))
      return wellFormed(lists.join('\n'))
    },
  }
}

async function listed(server: ServerHandle, { signal }: ToolContext, options: ServerToolOptions): Promise<string> {
  try {
    const timing = { signal, timeout: options.limits.connectMs, cacheMode: 'bypass' } as const
    const [{ resources }, templates, leftOut] = await server.ask(signal, async (client, reports) => {
      const lists = await Promise.all([
        client.listResources(undefined, timing),
        client.listResourceTemplates(undefined, timing).then(
          ({ resourceTemplates }) => resourceTemplates,
          () => [],
        ),
      ])
      return [...lists, [...reports.take('resources/list'), ...reports.take('resources/templates/list')]] as const
    })
    const rows = [
      ...resources.map(({ uri, name, mimeType, description }) => row([uri, name, mimeType, description])),
      ...templates.map(({ uriTemplate, name, mimeType, description }) =>
        row([uriTemplate, name, mimeType, description]),
      ),
    ]
    const left = rows.length - maxResources
    const more = left > 0 ? [texts.moreResources(left)] : []
    const notes = leftOut.map((problem) => `  (${problem})`)
    return [texts.resourceCount(server.name, rows.length), ...rows.slice(0, maxResources), ...more, ...notes].join('\n')
  } catch (thrown) {
    if (signal.aborted) throw thrown
    return `${server.name}: ${messageOf(thrown).slice(0, 500)}`
  }
}

function row(parts: readonly (string | undefined)[]): string {
  const cells = parts.filter((part) => part !== undefined).map((part) => part.replace(/\s+/g, ' ').slice(0, 200))
  return `  ${cells.join(' | ')}`
}

/** Reads one resource. */
export function createReadResource(
  servers: () => readonly ServerHandle[],
  options: ServerToolOptions,
): Tool<ReadInput> {
  const form = inputForm<ReadInput>('ReadMcpResource', {
    server: filledText('The server that has it'),
    uri: filledText('Its URI, from ListMcpResources'),
  })
  return {
    name: 'ReadMcpResource',
    description: 'Reads a resource of an MCP server by its URI.',
    inputSchema: form.schema,
    readOnly: true,
    validate: (input) => form.validate(input),
    async execute({ server, uri }, { signal }): Promise<ToolOutput> {
      const handle = servers().find(({ name }) => name === server)
      if (handle === undefined) return { content: noServer(server, servers()), isError: true }
      try {
        const { contents } = await handle.ask(signal, (client) =>
          client.readResource({ uri }, { signal, timeout: options.limits.toolMs, cacheMode: 'bypass' }),
        )
        return { content: contents.length === 0 ? texts.emptyResource : await shownResources(contents, options) }
      } catch (thrown) {
        if (signal.aborted) throw thrown
        return { content: wellFormed(messageOf(thrown).slice(0, 1_000)), isError: true }
      }
    },
  }
}

function noServer(server: string | undefined, servers: readonly ServerHandle[]): string {
  const names = servers.filter(({ offered }) => offered.hasResources).map(({ name }) => name)
  return server === undefined ? texts.resourceServers(names) : texts.unknownServer(server.slice(0, 100), names)
}
