import type { StandingBudgets } from '@halting/core'
import type { Scenario } from './world.ts'
import { lessMoney, limitPrograms } from './other-programs.ts'
import { standingAnswers } from './standing-budgets.ts'

/** Tool calls at their limit: concurrent calls of one message, calls of agents, and calls with a last answer. */
const calls: readonly Scenario[] = [
  {
    name: 'tool calls at their limit',
    replies: ['read write', 'reads', 'write', 'invalid input', 'text'],
    depth: 3,
    deviations: 2,
    options: { maxToolCalls: 4 },
  },
  {
    name: 'tool calls at their limit, with a last answer',
    replies: ['reads', 'read write', 'text'],
    closings: ['text', 'read', 'cut'],
    depth: 2,
    deviations: 2,
    options: { maxToolCalls: 4, maxTurns: 3, wrapUp: true },
  },
  {
    name: 'tool calls at their limit that wait for a person',
    replies: ['write read read', 'reads'],
    permissions: true,
    aborts: ['user'],
    depth: 1,
    deviations: 2,
    options: { maxToolCalls: 2 },
  },
  {
    name: 'tool calls of agents at their limit',
    replies: ['task', 'task read task', 'read', 'text'],
    agents: ['reads', 'read', 'text'],
    depth: 2,
    deviations: 2,
    options: { maxToolCalls: 7 },
  },
  {
    name: 'tool calls of agents in the background at their limit',
    replies: ['beside', 'reads', 'read'],
    agents: ['reads', 'write', 'text'],
    background: 'wait',
    depth: 2,
    deviations: 1,
    options: { maxToolCalls: 6 },
  },
  {
    name: 'tool calls at a limit that a person sets',
    replies: ['read write', 'write', 'text'],
    settings: {
      'fewer calls': { limits: { maxToolCalls: 1 } },
      'more calls': { limits: { maxToolCalls: 5 } },
    },
    depth: 2,
    deviations: 2,
    options: { maxToolCalls: 3, limitReminders: true },
  },
  {
    name: 'tool calls at a limit that another program has',
    replies: ['reads', 'write', 'text'],
    otherPrograms: limitPrograms,
    depth: 2,
    deviations: 2,
    options: { maxToolCalls: 5, limitReminders: true, maxTurns: 4 },
  },
]

const noStandingBudgets: StandingBudgets = {
  names: [],
  countsFor: () => false,
  take: () => {
    throw new Error('they count for nothing')
  },
}

/** Standing budgets, with every answer to each request. */
const standing: readonly Scenario[] = [
  {
    name: 'standing budgets',
    replies: ['read', 'text', 'error overloaded', 'cut'],
    standing: { ways: standingAnswers },
    depth: 2,
    deviations: 2,
    options: { maxRetries: 1 },
  },
  {
    name: 'standing budgets, and aborts at every await',
    replies: ['read', 'hang', 'deaf', 'text'],
    standing: {
      ways: ['all', 'all, after a wait', 'refused, after a wait', 'aborted while it waits'],
    },
    aborts: ['user', 'time'],
    depth: 1,
    deviations: 2,
  },
  {
    name: 'standing budgets beside a budget of the run, with a last answer',
    replies: ['read', 'text'],
    closings: ['text', 'error overloaded'],
    standing: { ways: ['all', 'the least', 'half', 'refused', 'all, after a wait', 'refused, after a wait'] },
    depth: 2,
    deviations: 2,
    options: { maxRunUsd: 0.2, maxBudgetUsd: 0.3, maxTurns: 2, maxRetries: 1, wrapUp: true, limitReminders: true },
  },
  {
    name: 'standing budgets that count for one of two models',
    replies: ['error overloaded', 'read', 'text'],
    standing: { ways: ['all', 'refused', 'all, after a wait', 'throws'], model: 'fallback' },
    fallback: true,
    depth: 4,
    deviations: 3,
    options: { maxRetries: 1 },
  },
  {
    name: 'standing budgets and agents',
    replies: ['task', 'text'],
    agents: ['text', 'read', 'error overloaded'],
    // An abort that comes while an agent waits is lost with its process.
    standing: { ways: standingAnswers.filter((way) => !way.includes('abort')) },
    depth: 1,
    deviations: 2,
    options: { maxRetries: 1 },
  },
  {
    name: 'standing budgets and agents in the background',
    replies: ['beside', 'text'],
    agents: ['text', 'write'],
    background: 'wait',
    standing: {
      ways: ['all', 'refused', 'all, after a wait', 'refused, after a wait', 'throws', 'aborted while it waits'],
    },
    depth: 1,
    deviations: 2,
    options: { maxRetries: 1 },
  },
  {
    name: 'standing budgets, and another program that goes on',
    replies: ['read', 'write', 'text'],
    standing: { ways: ['all', 'the least', 'all, after a wait', 'refused'] },
    otherPrograms: {
      'less money': lessMoney,
      'no standing budgets': { options: () => ({ standing: noStandingBudgets }), endings: 'any' },
    },
    depth: 2,
    deviations: 2,
    options: { maxBudgetUsd: 0.3 },
  },
]

/** Reminders of limits to the model. */
const reminders: readonly Scenario[] = [
  {
    name: 'reminders of limits',
    replies: ['read', 'reads', 'cut', 'text'],
    last: 'read',
    depth: 2,
    deviations: 2,
    options: { maxTurns: 6, maxToolCalls: 9, maxTotalTokens: 40_000, maxRunUsd: 0.5, limitReminders: true },
  },
  {
    name: 'reminders of limits, to agents and behind a message of the person',
    replies: ['task', 'read', 'text'],
    agents: ['reads', 'text'],
    inbox: true,
    depth: 2,
    last: 'read',
    deviations: 1,
    options: { maxTurns: 4, maxToolCalls: 8, maxDurationMs: 400, limitReminders: true, wrapUp: true },
  },
  {
    name: 'for ever: reading, with reminders of limits',
    replies: ['read'],
    last: 'read',
    depth: 0,
    deviations: 0,
    options: { maxTurns: 25, maxToolCalls: 22, limitReminders: true },
  },
]

export const limitScenarios: readonly Scenario[] = [...calls, ...standing, ...reminders]
