import { planning } from './goal-scenarios.ts'
import type { ReplyKind } from './replies.ts'
import type { Scenario } from './world.ts'

// Runs whose model may be asked to verify its last change (spec R-VERI-3), and everything that may follow the request.

const everyAnswer: readonly ReplyKind[] = [
  'write',
  'text',
  'empty',
  'cut',
  'pause',
  'refusal',
  'broken text',
  'error authentication_failed',
  'error prompt_too_long',
]

const changes = ['changes', 'passes'] as const

export const verificationScenarios: readonly Scenario[] = [
  {
    name: 'a change that nobody checked',
    replies: everyAnswer,
    verification: { work: ['changes', 'passes', 'fails', 'changes and passes', 'changes little', 'nothing'] },
    depth: 3,
    deviations: 2,
    options: { maxTurns: 6 },
  },
  {
    name: 'a change that nobody checked, and what the project names',
    replies: ['write', 'text'],
    verification: { work: changes, checks: ['named', 'none', 'throws', 'nonsense', 'late'] },
    aborts: ['user', 'time'],
    depth: 1,
    deviations: 2,
  },
  {
    name: 'a change that nobody checked, with aborts at every await',
    replies: ['write', 'text', 'hang'],
    verification: { work: ['changes'] },
    aborts: ['user', 'time', 'budget'],
    depth: 2,
    deviations: 2,
  },
  {
    name: 'a change that nobody checked, and few turns',
    replies: ['write', 'text', 'read'],
    verification: { work: changes },
    closings: ['text', 'empty'],
    depth: 3,
    deviations: 3,
    options: { maxTurns: 4, wrapUp: true },
  },
  {
    name: 'a change that nobody checked, on a small budget',
    replies: ['write', 'long text', 'text'],
    verification: { work: changes },
    closings: ['text'],
    depth: 3,
    deviations: 2,
    options: { maxBudgetUsd: 0.0605, wrapUp: true },
  },
  {
    name: 'a change that nobody checked, and a pause at few tokens',
    replies: ['write', 'long text', 'text'],
    verification: { work: changes },
    pauses: { forMs: 1_000, answers: ['raise', 'end'] },
    depth: 3,
    deviations: 2,
    options: { maxTotalTokens: 2_600 },
  },
  {
    name: 'a change that nobody checked, messages, stop hooks and a target',
    replies: ['write', 'text', 'empty'],
    verification: { work: changes },
    inbox: true,
    stopHooks: true,
    guards: true,
    depth: 1,
    deviations: 2,
    options: { tokenBudget: 40, maxTurns: 8 },
  },
  {
    name: 'a change that nobody checked, and hooks that go on',
    replies: ['write', 'text'],
    verification: { work: changes },
    hooks: ['beforeInference', 'onStop'],
    depth: 1,
    deviations: 2,
  },
  {
    name: 'a change that nobody checked, plans and goals that are set',
    replies: ['write', 'text'],
    verification: { work: changes },
    settings: {
      'a plan': { permissionMode: 'plan' },
      'fewer turns': { limits: { maxTurns: 3 } },
      'a goal': { until: [{ name: 'the check' }] },
    },
    depth: 1,
    deviations: 2,
    options: {
      permissions: planning,
      maxTurns: 8,
      maxGoalTries: 1,
      goalNamed: ({ name }) => ({ name, check: () => ({ met: false, report: 'failed', exitCode: 1 }) }),
    },
  },
  {
    name: 'a change that nobody checked, of subagents',
    replies: ['task', 'write', 'text'],
    verification: { work: changes },
    agents: ['write', 'text'],
    depth: 1,
    deviations: 2,
  },
  {
    name: 'a change that nobody checked, and calls that wait for a person',
    replies: ['write', 'text'],
    verification: { work: changes },
    permissions: true,
    depth: 2,
    deviations: 2,
  },
]
