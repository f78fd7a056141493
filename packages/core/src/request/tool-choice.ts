import type { ToolChoice } from '../model/sampling.ts'
import type { Run } from '../run/run.ts'

// Spec R-REQ-15a.
/**
 * What the next request says of tools; undefined to leave it to the model. A call that is required is required until the run has called a tool: afterwards the
 * model must be free to answer, or the run would go on until a limit ends it.
 */
export function toolChoiceNow({ context, spent }: Pick<Run, 'context' | 'spent'>): ToolChoice | undefined {
  if (spent.closing !== null) return 'none'
  const { toolChoice } = context.settings
  if (toolChoice === null || toolChoice === 'auto' || toolChoice === 'none') return toolChoice ?? undefined
  return (spent.toolCalls ?? 0) > 0 || !isOffered(context, toolChoice) ? undefined : toolChoice
}

/** A person may have set other tools since. */
function isOffered({ toolDefinitions }: Run['context'], choice: 'required' | { readonly tool: string }): boolean {
  return choice === 'required' ? toolDefinitions.length > 0 : toolDefinitions.some(({ name }) => name === choice.tool)
}
