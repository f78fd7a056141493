import type { Scenario } from './world.ts'

/** Hooks that look at subagents and at nothing else. */
export const agentHooks: Scenario = {
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
