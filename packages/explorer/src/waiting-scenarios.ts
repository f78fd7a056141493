import type { Scenario } from './world.ts'

/** A tool that waits: beside others, with messages, stops, aborts and kills at each moment of it. */
export const waitingScenarios: readonly Scenario[] = [
  {
    name: 'a tool that waits, with messages and stops',
    replies: ['wait', 'wait read wait', 'wait write', 'text'],
    waits: true,
    inbox: true,
    depth: 2,
    deviations: 2,
    options: { maxTurns: 4 },
  },
  {
    name: 'a tool that waits, with aborts',
    replies: ['wait read wait', 'wait write', 'text'],
    waits: true,
    aborts: ['user', 'interrupt', 'time'],
    depth: 2,
    deviations: 1,
  },
  {
    name: 'a tool that waits in subagents',
    replies: ['task', 'wait', 'text'],
    agents: ['wait', 'wait write', 'text'],
    waits: true,
    inbox: true,
    aborts: ['user'],
    depth: 1,
    deviations: 1,
  },
  {
    name: 'a tool that waits, in circles',
    replies: ['wait'],
    last: 'wait',
    waits: true,
    noProgress: true,
    deviations: 0,
    options: { maxTurns: 12 },
  },
]
