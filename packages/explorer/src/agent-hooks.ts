import { backgroundScenarios } from './background-scenarios.ts'
import type { Scenario } from './world.ts'

/** Hooks that look at subagents and at nothing else. */
const agentHooks: Scenario = {
  name: 'hooks on the start and the end of a subagent',
  replies: ['task', 'text'],
  agents: ['text', 'read', 'error authentication_failed'],
  hooks: ['beforeAgent'],
  aborts: ['user'],
  depth: 1,
  deviations: 2,
  options: {
    stopHooks: [
      { id: 'once', of: 'agents', handle: ({ stopHookActive }) => (stopHookActive ? {} : { block: 'more' }) },
    ],
  },
}

/** Agents of agents, some of which are refused: by their number, by their depth. */
const agentsOfAgents: Scenario = {
  name: 'agents that start agents',
  replies: ['task', 'text'],
  agents: ['text', 'task', 'read'],
  aborts: ['user'],
  depth: 1,
  deviations: 2,
  options: { maxSubagentDepth: 2, maxSubagents: 5 },
}

export const agentScenarios: readonly Scenario[] = [agentHooks, agentsOfAgents, ...backgroundScenarios]
