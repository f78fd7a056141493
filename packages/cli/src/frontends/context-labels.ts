import type { ContextKind } from '@halting/core/adapters'

/** Labels for what fills the context window. */
export const contextKindLabels: { readonly [kind in ContextKind]: string } = {
  system: 'system prompt',
  memory: 'memory files',
  tool: 'tools',
  summary: 'summaries',
  person: 'your messages',
  program: 'program messages',
  text: 'answers',
  thinking: 'thinking',
  call: 'tool calls',
  result: 'tool results',
  cleared: 'pruned tool results',
}
