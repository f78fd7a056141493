import type { QueryOptions, Transcript } from '@halting/core'
import { contextUsage } from '@halting/core/adapters'
import type { ContextUsage } from './session.ts'

/** What the next request would hold, by kind. Asks nobody. */
export function contextUsageOf(options: QueryOptions, transcript: Transcript): ContextUsage {
  const { parts, figures, autoCompact } = contextUsage(options, { transcript })
  const sums = new Map<string, number>()
  for (const { kind, tokens } of parts) sums.set(kind, (sums.get(kind) ?? 0) + tokens)
  return {
    totalTokens: figures.usedTokens,
    maxTokens: figures.windowTokens === Infinity ? null : figures.windowTokens,
    compactsAt: autoCompact?.atTokens ?? null,
    categories: [...sums].map(([name, tokens]) => ({ name, tokens })),
  }
}
