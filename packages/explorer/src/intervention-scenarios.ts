import type { Scenario } from './world.ts'

/** Aborts that are easily lost, because only the outcome of a hook records them. */
export const abortScenarios: readonly Scenario[] = [
  {
    name: 'last answers that an abort forestalls',
    replies: ['text', 'read'],
    depth: 1,
    deviations: 2,
    aborts: ['user'],
    hooks: ['beforeStep', 'onStop'],
    options: { wrapUp: true },
  },
]

/** Settings that a person changes during the run, at any moment: before a request is made or while a tool runs. */
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

/** Runs that pause at their limits: with every answer, without one, with aborts and stops, and a kill at every record. */
export const pauseScenarios: readonly Scenario[] = [
  {
    name: 'pauses at limits of turns and tool calls',
    replies: ['read write', 'write', 'text'],
    pauses: { forMs: 500, answers: ['raise', 'double', 'end', 'nobody', 'fails', 'nonsense', 'abort'] },
    depth: 3,
    deviations: 1,
    options: { maxTurns: 2, maxToolCalls: 3, wrapUp: true },
  },
  {
    name: 'pauses at a limit of dollars',
    replies: ['write', 'text'],
    pauses: { forMs: 500, answers: ['raise', 'end', 'nobody'] },
    depth: 3,
    deviations: 1,
    options: { maxRunUsd: 0.01 },
  },
  {
    name: 'pauses at a limit of time',
    replies: ['read'],
    pauses: { forMs: 500, answers: ['double', 'end'] },
    aborts: ['time'],
    depth: 2,
    // A second abort would count only in the process after a kill.
    deviations: 1,
    options: { maxDurationMs: 30_000, maxTurns: 4 },
  },
  {
    name: 'pauses with messages, stops and aborts',
    replies: ['write'],
    pauses: { forMs: 500, answers: ['raise', 'nobody'] },
    inbox: true,
    aborts: ['user'],
    depth: 2,
    deviations: 1,
    options: { maxTurns: 1 },
  },
]
