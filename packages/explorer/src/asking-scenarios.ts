import { CallableHook, type HookTrigger, type StopHook, type AnyTool } from '@halting/core'
import { textOf } from '@halting/core/adapters'
import type { AskModel } from './core-internals.ts'
import type { ReplyKind } from './replies.ts'
import type { Scenario } from './world.ts'

/** Possible answers of a model that a hook asks. */
const verdicts: readonly ReplyKind[] = [
  'text',
  'empty',
  'broken text',
  'error overloaded',
  'error authentication_failed',
  'hang',
]

/** Asks two questions concurrently. Returns true if both are answered. */
async function areAllAnswered(ask: AskModel, about: string): Promise<boolean> {
  const replies = await Promise.all(
    ['one', 'two'].map((judge) =>
      ask({ system: 'Judge.', messages: [{ role: 'user', content: `${judge}: ${about}` }], maxOutputTokens: 1_000 }),
    ),
  )
  return replies.every((reply) => reply.kind === 'answered' && textOf(reply.message.content) !== '')
}

const askingHook = (...triggers: HookTrigger[]): CallableHook =>
  new CallableHook(
    async (context) => {
      const isFine = await areAllAnswered(
        (question) => context.ask(question),
        context.toolCall?.name ?? context.trigger,
      )
      return isFine || context.trigger !== 'beforeToolUse' ? context : context.withBlocked('nobody vouches for it')
    },
    { id: 'asking', triggers },
  )

const askingStopHook = (of: 'run' | 'agents'): StopHook => ({
  id: `asking of ${of}`,
  of,
  async handle({ ask, stopHookActive }) {
    const isFine = ask !== undefined && (await areAllAnswered(ask, 'the end'))
    return isFine || stopHookActive ? {} : { block: 'nobody says that it is done' }
  },
})

/** Tools that ask a model concurrently and report the outcome. */
const askingTools: readonly AnyTool[] = [
  {
    name: 'Read',
    description: '',
    inputSchema: { type: 'object' },
    readOnly: true,
    asksModel: true,
    async execute(_input, { ask, callId }) {
      return ask !== undefined && (await areAllAnswered(ask, callId)) ? 'answered' : 'the page itself'
    },
  },
]

/** Hooks, stop hooks, tools and permission rules that ask a model. Each question is paid once, whenever the process ends. */
export const askingScenarios: readonly Scenario[] = [
  {
    name: 'hooks that ask a model',
    replies: ['read', 'text'],
    closings: verdicts,
    depth: 1,
    deviations: 1,
    options: { hooks: [askingHook('beforeToolUse', 'onError', 'afterExecution')], stopHooks: [askingStopHook('run')] },
  },
  {
    name: 'hooks that ask a model, on a small budget',
    replies: ['read', 'text'],
    closings: ['text', 'error overloaded'],
    depth: 2,
    deviations: 1,
    options: { maxBudgetUsd: 0.08, hooks: [askingHook('beforeToolUse')], stopHooks: [askingStopHook('run')] },
  },
  {
    name: 'hooks that ask a model, with aborts at every await',
    replies: ['read', 'text'],
    closings: ['text'],
    aborts: ['user'],
    depth: 1,
    deviations: 1,
    options: { hooks: [askingHook('beforeToolUse', 'afterToolUse')], stopHooks: [askingStopHook('run')] },
  },
  {
    name: 'hooks in subagents that ask a model',
    replies: ['task', 'text'],
    agents: ['text', 'read'],
    closings: ['text', 'error authentication_failed'],
    depth: 1,
    deviations: 1,
    options: { hooks: [askingHook('beforeAgent', 'beforeToolUse')], stopHooks: [askingStopHook('agents')] },
  },
  {
    name: 'tools that ask a model',
    replies: ['read', 'text'],
    closings: verdicts,
    depth: 1,
    deviations: 1,
    options: { tools: askingTools },
  },
  {
    name: 'tools that ask a model beside each other',
    replies: ['reads', 'text'],
    // An abort reaches each of them at a different point, so their outcome differs after a kill.
    closings: verdicts.filter((verdict) => verdict !== 'hang'),
    depth: 1,
    deviations: 1,
    options: { tools: askingTools },
  },
  {
    name: 'tools that ask a model, on a small budget',
    replies: ['read', 'text'],
    closings: ['text', 'error overloaded'],
    depth: 2,
    deviations: 1,
    options: { maxBudgetUsd: 0.08, tools: askingTools },
  },
  {
    name: 'tools that ask a model, with aborts at every await',
    replies: ['read', 'text'],
    closings: ['text'],
    aborts: ['user'],
    depth: 1,
    deviations: 1,
    options: { tools: askingTools },
  },
]
