import type { AnyTool, RunOptions } from '@halting/core'

type Aliases = NonNullable<RunOptions['toolAliases']>

/** The names of calls: the tool that starts agents was called Task first, and models still call it so (spec R-AGENT-9b). */
export function withFormerName(tools: readonly AnyTool[], given: Aliases = {}): { readonly toolAliases: Aliases } {
  const isOther = tools.some(({ name }) => name === 'Task') || !tools.some(({ name }) => name === 'Agent')
  return { toolAliases: isOther ? given : { Task: 'Agent', ...given } }
}
