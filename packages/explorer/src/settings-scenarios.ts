import type { Scenario } from './world.ts'

/** What a person sets while the run goes on, at any moment: before a request is made or a tool is at work. */
export const settingsScenarios: readonly Scenario[] = [
  {
    name: 'settings from outside',
    replies: ['write', 'text', 'task'],
    settings: {
      'more turns, no budget': { limits: { maxTurns: 6, maxBudgetUsd: null } },
      'fewer turns': { limits: { maxTurns: 1 } },
      'less money': { limits: { maxBudgetUsd: 0.001 } },
      'fewer tokens': { limits: { maxTotalTokens: 300 } },
      'less time': { limits: { maxDurationMs: 10 } },
      model: { model: 'other', thinking: { type: 'disabled' } },
      mode: { permissionMode: 'closed' },
    },
    depth: 3,
    last: 'write',
    deviations: 1,
    options: { maxTurns: 4, maxBudgetUsd: 0.3, maxTotalTokens: 60_000, wrapUp: true },
  },
  {
    name: 'settings from outside, two at a time',
    replies: ['read'],
    settings: {
      'more turns': { limits: { maxTurns: 5 } },
      'fewer turns': { limits: { maxTurns: 2 } },
      model: { model: 'other' },
      'model again': { model: null },
    },
    depth: 3,
    last: 'read',
    deviations: 2,
    options: { maxTurns: 3 },
  },
]
