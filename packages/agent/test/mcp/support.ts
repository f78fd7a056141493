import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { AnyTool, ToolContext, ToolOutput } from '@halting/core'
import { isAgentTool } from '@halting/core/adapters'
import { afterEach } from 'vitest'
import { type McpLimits, type McpOptions, McpServers, type McpServerConfig } from '../../src/mcp/index.ts'

const script = fileURLToPath(new URL('hostile-server.mjs', import.meta.url))

/** The hostile server in one of its modes; it writes what it did to `note`. */
export function hostile(mode: string, note = '', env: Readonly<Record<string, string>> = {}): McpServerConfig {
  return { type: 'stdio', command: process.execPath, args: [script, mode, note], env }
}

const open = new Set<McpServers>()

afterEach(async () => {
  await Promise.all([...open].map((servers) => servers.dispose()))
  open.clear()
})

const quick: Partial<McpLimits> = {
  connectMs: 20_000,
  waitMs: 20_000,
  waitAfterFirstMs: 20_000,
  killGraceMs: 100,
  reconnectMs: [20, 20],
}

/** Servers by name; ended after the test. */
export function serversOf(
  servers: Readonly<Record<string, McpServerConfig | { readonly problem: string }>>,
  options: Partial<McpOptions> = {},
): McpServers {
  const made = new McpServers({
    servers: Object.entries(servers).map(([name, server]) => ({ name, server })),
    cwd: process.cwd(),
    ...options,
    limits: { ...quick, ...options.limits },
  })
  open.add(made)
  return made
}

export async function readyServers(...given: Parameters<typeof serversOf>): Promise<McpServers> {
  const servers = serversOf(...given)
  await servers.ready()
  return servers
}

export interface Called extends ToolOutput {
  readonly progress: readonly unknown[]
}

export async function call(
  servers: McpServers,
  name: string,
  input: unknown = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Called> {
  const tool: AnyTool | undefined = servers.tool(name)
  if (tool === undefined || isAgentTool(tool)) throw new Error(`There is no tool ${name}: ${servers.names.join(', ')}`)
  const progress: unknown[] = []
  const context = {
    callId: 'c',
    toolName: name,
    signal,
    idempotencyKey: 'k',
    progress: (data: unknown) => progress.push(data),
  }
  // The test passes matching values; no tool here reads the state.
  const output = await tool.execute(input as never, context as unknown as ToolContext)
  return { ...(typeof output === 'string' ? { content: output } : output), progress }
}

export function textOf({ content }: Pick<ToolOutput, 'content'>): string {
  if (typeof content === 'string') return content
  return content.map((block) => (block.type === 'text' ? block.text : `<${block.type}>`)).join('\n')
}

export function notes(file: string): readonly string[] {
  try {
    // A file exists before its first line.
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch {
    return []
  }
}

export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return !['Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '')
  } catch {
    return false
  }
}

export async function until(holds: () => boolean, ms = 10_000): Promise<void> {
  const end = performance.now() + ms
  while (!holds()) {
    if (performance.now() > end) throw new Error('It did not come to be.')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
