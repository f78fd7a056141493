import type { TaskEnded, TaskNote } from '../verification/background.ts'
import type { RunProgress } from './state.ts'

/** What an agent adds to the figures of the run that started it. */
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

/** One that has ended, as it is entered in the run that started it; null for one that never began. */
export type AgentEnd = {
  readonly id: string
  readonly spent: AgentFigures | null
  /** What its tools told of tasks: its transcript is on no record that a later run looks at. */
  readonly tasks?: readonly TaskNote[]
}

/** How an agent of the background ended, and what it spent. */
export interface CameToEnd {
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

/** Agents that were started, and those that agents which still work may start. */
export function agentsTaken({ subagents, openAgents = [] }: Pick<RunProgress, 'subagents' | 'openAgents'>): number {
  return openAgents.reduce((sum, { agents }) => sum + agents, subagents)
}

/** Calls of tools that were let run, and those that agents which still work may make. */
export function toolCallsTaken({
  toolCalls = 0,
  openAgents = [],
}: Pick<RunProgress, 'toolCalls' | 'openAgents'>): number {
  return openAgents.reduce((sum, agent) => sum + (agent.toolCalls ?? 0), toolCalls)
}
