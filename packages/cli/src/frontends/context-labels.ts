import type { ContextKind } from '@halting/core/adapters'

/** What fills the context window, in the words of all frontends. */
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
