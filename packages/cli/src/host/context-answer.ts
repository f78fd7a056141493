import type { ContextUsage } from '@halting/core/session'
import type { JsonObject, Usage } from '@halting/core'
import { mcpNameOf } from '../io/mcp-name.ts'
import type { Opened } from './opened.ts'

/** What fills the window, as hosts read it. They show colours by name. */
export function contextAnswer(usage: ContextUsage, { session, memoryFiles, agentTokens }: Opened): JsonObject {
  const { totalTokens, maxTokens, compactsAt, categories, tools, lastUsage } = usage
  const window = maxTokens ?? 0
  const free = Math.max(0, window - totalTokens)
  return {
    categories: [
      ...categories.map(({ name, tokens }, at) => ({
        name,
        tokens,
        color: colours[at % colours.length] ?? 'inactive',
        kind: 'used',
      })),
      ...(window > 0 ? [{ id: 'free_space', name: 'Free space', tokens: free, color: 'inactive', kind: 'free' }] : []),
    ],
    totalTokens,
    maxTokens: window,
    rawMaxTokens: window,
    percentage: window > 0 ? Math.round((totalTokens / window) * 100) : 0,
    gridRows: [],
    model: session.snapshot.model,
    memoryFiles: memoryFiles(),
    mcpTools: tools.flatMap(({ name, tokens }) => {
      const { server } = mcpNameOf(name) ?? {}
      return server === undefined ? [] : [{ name, serverName: server, tokens, isLoaded: true }]
    }),
    agents: agentTokens(),
    ...(compactsAt !== null && { autoCompactThreshold: compactsAt }),
    isAutoCompactEnabled: compactsAt !== null,
    apiUsage: lastUsage === null ? null : usageOf(lastUsage),
  }
}

/** The four figures that the protocol knows. */
function usageOf(usage: Usage): JsonObject {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage
  return { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens }
}

const colours = ['promptBorder', 'claude', 'cyan', 'permission', 'warning', 'purple'] as const
