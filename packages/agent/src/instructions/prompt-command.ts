import { AgentState, type Permissions, type PermissionRequest, type ToolContext } from '@halting/core'
import { textOf } from '@halting/core/adapters'
import { isReadOnlyCommand } from '@halting/policy/shell'
import { createBashTool } from '../tools/bash.ts'
import type { Workspace } from '../tools/workspace.ts'
import type { Substitution } from './expand-prompt.ts'
import { agentWithoutBash, noRuleDecides } from './prompt-texts.ts'

/** The caller that invokes a prompt file, with its rights: a user, or the tool Skill in a run or a subagent. */
export type PromptCaller = Pick<ToolContext, 'signal' | 'agentType' | 'rights'> & Partial<Pick<ToolContext, 'state'>>

// Spec R-CMD-3a.
/**
 * Runs a command in a prompt file like Bash: confined, bounded, and only if the rules allow the caller to run it
 * without asking a user.
 */
export function runPromptCommand(
  workspace: Workspace,
  permissions: Permissions,
  { signal, agentType = null, rights }: PromptCaller,
  /** Called for commands that the rules allow. */
  guard: (command: string) => Promise<string | undefined> = async () => undefined,
): Substitution['run'] {
  let calls = 0
  return async (command) => {
    const tool = createBashTool(workspace)
    const id = `written-${++calls}`
    const call = { type: 'tool_use', id, name: 'Bash', input: { command } } as const
    const { tools, ...requested } = rights ?? {}
    const isAgent = typeof agentType === 'string'
    if (isAgent && tools?.includes('Bash') === false) return { kind: 'refused', text: agentWithoutBash(agentType) }
    const refusal = await whyNotAllowed({ call, tool, readOnly: isReadOnlyCommand(command), ...requested }, permissions)
    if (refusal !== undefined) return { kind: 'refused', text: refusal }
    const guarded = await guard(command)
    if (guarded !== undefined) return { kind: 'refused', text: guarded }
    const context = {
      callId: id,
      toolName: 'Bash',
      agentType,
      ...(rights !== undefined && { rights }),
      signal,
      idempotencyKey: id,
      state: AgentState.empty(),
      progress: () => undefined,
    }
    const output = await tool.execute({ command }, context)
    return { kind: 'ran', text: typeof output === 'string' ? output : textOf(output.content) }
  }
}

/** Returns why a call would require a user's permission; undefined if it would not. */
export async function whyNotAllowed(request: PermissionRequest, permissions: Permissions): Promise<string | undefined> {
  const denied = permissions.denies(request)
  if (denied !== undefined) return denied
  const decision = await permissions.decide(request)
  if (!('behavior' in decision)) return noRuleDecides
  return decision.behavior === 'allow' ? undefined : decision.message
}
