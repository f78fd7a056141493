import { askingContext } from './layers.ts'
import type { Scenario } from './world.ts'

const waitForLimitsMs = 60_000

/** Requests that wait for their service, with everything that may happen meanwhile. */
const services: readonly Scenario[] = [
  {
    name: 'waits for a service, with messages, stops and retries',
    replies: ['text', 'limited', 'out of order', 'read'],
    waits: true,
    inbox: true,
    depth: 1,
    deviations: 2,
    options: { waitForLimitsMs, maxRetries: 0 },
  },
  {
    name: 'waits for a service, with aborts and another model',
    replies: ['text', 'limited', 'limited for long'],
    waits: true,
    aborts: ['user', 'interrupt', 'time'],
    settings: { model: { model: 'other' }, 'fewer turns': { limits: { maxTurns: 1 } } },
    depth: 1,
    deviations: 2,
    options: { waitForLimitsMs, maxRetries: 1, maxBudgetUsd: 0.3 },
  },
  {
    name: 'waits for a service that never gives in',
    replies: ['limited'],
    last: 'limited',
    waits: true,
    depth: 0,
    deviations: 1,
    options: { waitForLimitsMs, maxRetries: 1 },
  },
  {
    name: 'waits for an overloaded service, with a fallback model',
    replies: ['error overloaded', 'text', 'limited'],
    fallback: true,
    depth: 2,
    deviations: 2,
    options: { waitForLimitsMs, maxRetries: 2 },
  },
  {
    name: 'waits of questions for a service',
    replies: ['read', 'text', 'error prompt_too_long'],
    closings: ['text', 'limited', 'out of order'],
    waits: true,
    aborts: ['user'],
    depth: 2,
    deviations: 2,
    options: { context: askingContext, waitForLimitsMs, maxTurns: 3, maxRetries: 0 },
  },
  {
    name: 'waits of agents for a service, one by one and side by side',
    replies: ['task', 'text'],
    agents: ['text', 'limited', 'out of order'],
    waits: true,
    depth: 1,
    deviations: 2,
    options: { waitForLimitsMs, maxRetries: 0 },
  },
]

/** A tool that waits: concurrently with others, and with messages, stops, aborts and kills at each moment. */
const tools: readonly Scenario[] = [
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

export const waitingScenarios: readonly Scenario[] = [...tools, ...services]
