import type { AnyTool, RunOptions } from '@halting/core'

type Aliases = NonNullable<RunOptions['toolAliases']>

// Spec R-AGENT-9b.
/** Adds the former name `Task` of the tool that starts agents, which models still use. */
export function withFormerName(tools: readonly AnyTool[], aliases: Aliases = {}): { readonly toolAliases: Aliases } {
  const isOther = tools.some(({ name }) => name === 'Task') || !tools.some(({ name }) => name === 'Agent')
  return { toolAliases: isOther ? aliases : { Task: 'Agent', ...aliases } }
}
