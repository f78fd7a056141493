import type { QueryOptions } from '../api/query-options.ts'
import type { Transcript } from '../conversation/transcript.ts'
import type { Usage } from '../model/messages.ts'
import { contextUsage } from '../api/context-usage.ts'
import type { ContextUsage } from './session.ts'

/** What the next request contains, by kind. `added`: names of tools that were added later. Makes no request. */
export function contextUsageOf(
  options: QueryOptions,
  transcript: Transcript,
  added: readonly string[] = [],
): ContextUsage {
  const { tools: builtIn = [], moreTools } = options
  const known = new Set(builtIn.map(({ name }) => name))
  const more = added.flatMap((name) => (known.has(name) ? [] : (moreTools?.(name) ?? [])))
  const { parts, figures, autoCompact } = contextUsage({ ...options, tools: [...builtIn, ...more] }, { transcript })
  const sums = new Map<string, number>()
  for (const { kind, tokens } of parts) sums.set(kind, (sums.get(kind) ?? 0) + tokens)
  return {
    totalTokens: figures.usedTokens,
    maxTokens: figures.windowTokens === Infinity ? null : figures.windowTokens,
    compactsAt: autoCompact?.atTokens ?? null,
    categories: [...sums].map(([name, tokens]) => ({ name, tokens })),
    tools: parts.flatMap(({ kind, name, tokens }) => (kind === 'tool' && name !== null ? [{ name, tokens }] : [])),
    lastUsage: lastUsageOf(transcript),
  }
}

function lastUsageOf(transcript: Transcript): Usage | null {
  const last = transcript.since(0).findLast((entry) => entry.kind === 'assistant' && entry.error === undefined)
  return last?.kind === 'assistant' ? last.message.usage : null
}
