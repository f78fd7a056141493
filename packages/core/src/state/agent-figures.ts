import type { TaskEnded, TaskNote } from '../verification/background.ts'
import type { RunProgress } from './state.ts'

/** The figures of an agent that count for the run that started it. */
export type AgentFigures = Pick<
  RunProgress,
  | 'modelUsage'
  | 'totalTokens'
  | 'nanos'
  | 'unknownNanos'
  | 'subagents'
  | 'stillRunning'
  | 'now'
  | 'settings'
  | 'changes'
  | 'toolCalls'
  | 'waits'
  | 'verification'
>

/** An ended agent, as its parent enters it; `spent` is null for an agent that never began. */
export type AgentEnd = {
  readonly id: string
  readonly spent: AgentFigures | null
  /** Task notes of its tools. Later runs do not read its transcript. */
  readonly tasks?: readonly TaskNote[]
}

/** How a background agent ended, and what it spent. */
export interface AgentResult {
  readonly task: TaskEnded
  readonly end: AgentEnd
}

export function agentFigures(spent: RunProgress): AgentFigures {
  const { modelUsage, totalTokens, nanos, unknownNanos, subagents, stillRunning, now, settings } = spent
  const { changes, toolCalls, waits, verification } = spent
  return {
    modelUsage,
    totalTokens,
    nanos,
    unknownNanos,
    subagents,
    stillRunning,
    now,
    settings,
    changes,
    toolCalls,
    waits,
    verification,
  }
}

/** The number of agents that were started, plus those that running agents may still start. */
export function agentsStarted({ subagents, openAgents = [] }: Pick<RunProgress, 'subagents' | 'openAgents'>): number {
  return openAgents.reduce((sum, { agents }) => sum + agents, subagents)
}

/** The number of tool calls that were permitted, plus those that running agents may still make. */
export function toolCallsTaken({
  toolCalls = 0,
  openAgents = [],
}: Pick<RunProgress, 'toolCalls' | 'openAgents'>): number {
  return openAgents.reduce((sum, agent) => sum + (agent.toolCalls ?? 0), toolCalls)
}
