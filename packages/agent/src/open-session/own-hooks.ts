import { isBuiltinHook } from '@halting/core/adapters'
import { planModeHook } from '@halting/policy'
import type { Hook, SdkMessage } from '@halting/core'
import type { SessionFrontend } from './session-options.ts'
import type { Toolbox } from './toolbox.ts'

/** Hooks of the program itself: words about plan mode, and summaries of what subagents do. `mode`: that of the moment. */
export async function ownHooks(
  frontend: SessionFrontend,
  toolbox: Toolbox,
  mode: () => string,
): Promise<readonly Hook[]> {
  const { agentSummaries } = frontend
  const ofPlan = planHooks(frontend, toolbox, mode)
  if (agentSummaries === undefined) return ofPlan
  const { agentSummaryHook } = await import('../after/index.ts')
  return [...ofPlan, agentSummaryHook(agentSummaries)]
}

/** Where the session plans, or may come to: what it is told of that. */
function planHooks(
  { planInstructions: instructions }: SessionFrontend,
  { tools, permissions }: Toolbox,
  mode: () => string,
): readonly Hook[] {
  const hasExit = tools.some(({ name }) => name === 'ExitPlanMode')
  const mayPlan = hasExit || instructions !== undefined || permissions.mode === 'plan'
  return mayPlan ? [planModeHook(mode, { instructions, hasExit })] : []
}

/** The program's own hooks are no hooks of a person's. */
export function withoutOwnHooks(tell: (message: SdkMessage) => void): (message: SdkMessage) => void {
  return (message) => {
    if (message.type === 'system' && 'hook_id' in message && isBuiltinHook(message.hook_id)) return
    tell(message)
  }
}
