import { AgentExecution, AgentState } from '../hooks/agent-state.ts'
import type { RunState } from '../state/state.ts'
import { activeMs, committedUsd } from './figures.ts'

// Spec R-HOOK-1.
/** The run as hooks, tools and callers see it. */
export function agentStateOf(state: RunState): AgentState {
  const { run, spent, transcript, continuation } = state
  const figures = {
    steps: spent.turns,
    usage: spent.usage,
    totalTokens: spent.totalTokens,
    costUsd: committedUsd(spent),
    durationMs: activeMs(spent),
  }
  const execution = new AgentExecution(executionIdOf(state), figures, continuation)
  return new AgentState({
    agentId: run.agentId ?? 'main',
    sessionId: run.sessionId,
    transcript,
    metadata: spent.metadata,
    executionCount: run.executionCount ?? 1,
    execution,
  })
}

/** Names one execution within all sessions. */
function executionIdOf(state: { readonly run: RunState['run'] }): string {
  const { sessionId, runId, agentPath } = state.run
  return `${sessionId}/${runId}${agentPath === '' ? '' : `/${agentPath}`}`
}
