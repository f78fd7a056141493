import type { Scenario } from './world.ts'

/** Agents and commands that run in the background: how they end, and how the run ends with them. */
const backgroundScenarios: readonly Scenario[] = [
  {
    name: 'agents in the background',
    replies: ['beside', 'stop beside'],
    agents: ['text', 'write', 'task', 'error authentication_failed'],
    background: 'wait',
    depth: 1,
    deviations: 2,
  },
  {
    name: 'an agent and a command in the background',
    replies: ['beside start', 'read', 'text'],
    agents: ['text', 'write'],
    background: 'wait',
    inbox: true,
    depth: 2,
    deviations: 1,
  },
  {
    name: 'an agent and a command in the background, with aborts',
    replies: ['beside start', 'write', 'text'],
    agents: ['write'],
    aborts: ['user', 'interrupt'],
    background: 'wait',
    depth: 2,
    deviations: 1,
  },
  {
    name: 'what works in the background is stopped with the run',
    replies: ['beside start', 'text', 'read'],
    agents: ['write', 'text'],
    background: 'stop',
    depth: 2,
    deviations: 2,
  },
  {
    name: 'agents in the background on a small budget',
    replies: ['beside', 'read'],
    agents: ['write', 'text'],
    background: 'wait',
    depth: 4,
    deviations: 1,
    options: { maxBudgetUsd: 0.25, wrapUp: true, maxTurns: 4 },
  },
  {
    name: 'for ever: agents in the background',
    replies: ['beside'],
    last: 'beside',
    background: 'wait',
    deviations: 0,
    options: { maxTurns: 6, maxSubagents: 5 },
  },
]

/** Hooks on subagents only. */
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

/** Agents that start agents, some of which are refused because of their number or depth. */
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
