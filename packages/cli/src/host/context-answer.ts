import type { ContextUsage } from '@halting/agent/session'
import type { JsonObject } from '@halting/core'
import type { Opened } from './opened.ts'

/** What fills the window, as hosts read it. They show colours by name. */
export function contextAnswer(usage: ContextUsage, { session, memoryFiles }: Opened): JsonObject {
  const { totalTokens, maxTokens, compactsAt, categories } = usage
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
    mcpTools: [],
    agents: [],
    ...(compactsAt !== null && { autoCompactThreshold: compactsAt }),
    isAutoCompactEnabled: compactsAt !== null,
    apiUsage: null,
  }
}

const colours = ['promptBorder', 'claude', 'cyan', 'permission', 'warning', 'purple'] as const
