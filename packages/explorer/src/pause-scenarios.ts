import type { Scenario } from './world.ts'

/** A run that pauses at its limits: what a person says there, nobody, aborts and stops, with a kill at every record. */
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
    // A second abort would be one only in the process after a kill.
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
