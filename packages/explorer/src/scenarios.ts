import { abortScenarios, settingsScenarios, pauseScenarios } from './intervention-scenarios.ts'
import {
  type AbortCause,
  CallableHook,
  type StopHook,
  StopSignal,
  AgentStopException,
  type AnyTool,
} from '@halting/core'
import { FinishReasonHook } from '@halting/core/compat'
import { plainContext } from '@halting/core/adapters'
import { agentScenarios } from './agent-scenarios.ts'
import { askingScenarios } from './asking-scenarios.ts'
import { contextScenarios, imagePrompt as image, mediaScenarios } from './context-scenarios.ts'
import { goalScenarios } from './goal-scenarios.ts'
import { askingContext, room } from './layers.ts'
import { limitScenarios } from './limit-scenarios.ts'
import { allReplies, type ReplyKind } from './replies.ts'
import { hostileScenarios } from './hostile-scenarios.ts'
import { verificationScenarios } from './verification-scenarios.ts'
import { waitingScenarios } from './waiting-scenarios.ts'
import type { Scenario } from './world.ts'

const causes: readonly AbortCause[] = ['user', 'interrupt', 'time', 'budget', 'terminated']
const everyReply: readonly ReplyKind[] = allReplies

const reader: AnyTool = {
  name: 'Read',
  description: '',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => 'the same',
}
/** Blocks with a different reason each time, which is the same in every replay. */
const countsAnswers: StopHook = {
  id: 'counts',
  handle: ({ assistantMessages }) => ({ block: `answer ${assistantMessages.length} will not do` }),
}

const halter: AnyTool = {
  ...reader,
  name: 'Halt',
  execute: () => {
    throw new AgentStopException({ message: 'done with it' })
  },
}

/** Everything that may deviate, a few deviations at a time. */
const deviatingScenarios: readonly Scenario[] = [
  { name: 'every reply, two at a time', replies: everyReply, depth: 4, deviations: 2 },
  {
    name: 'every reply under limits, with a last answer',
    replies: everyReply,
    depth: 4,
    deviations: 2,
    fallback: true,
    options: { maxTurns: 3, wrapUp: true, maxBudgetUsd: 0.3, maxTotalTokens: 60_000 },
  },
  {
    name: 'last answers',
    replies: ['read', 'text'],
    closings: ['text', 'read', 'empty', 'error overloaded', 'cut', 'hang'],
    depth: 3,
    deviations: 2,
    options: { maxTurns: 2, wrapUp: true },
  },
  {
    name: 'every reply on a small budget',
    replies: everyReply,
    depth: 4,
    deviations: 1,
    options: { maxBudgetUsd: 0.064 },
  },
  {
    name: 'aborts at every await',
    replies: ['read write', 'text', 'task', 'hang', 'hang after call', 'deaf', 'error overloaded', 'cut'],
    aborts: causes,
    depth: 4,
    deviations: 2,
  },
  {
    name: 'aborts at every await, with hooks',
    replies: ['write', 'text'],
    aborts: ['user', 'interrupt'],
    hooks: ['beforeStep', 'beforeToolUse', 'afterToolUse', 'onStop'],
    stopHooks: true,
    depth: 1,
    deviations: 2,
  },
  {
    name: 'run hooks',
    replies: ['read', 'text', 'error authentication_failed'],
    hooks: [
      'beforeExecution',
      'beforeStep',
      'beforeInference',
      'afterInference',
      'afterStep',
      'onStop',
      'onError',
      'afterExecution',
    ],
    depth: 2,
    deviations: 2,
  },
  {
    name: 'tool hooks',
    replies: ['read write', 'text'],
    hooks: ['beforeToolUse', 'afterToolUse', 'afterStep', 'onStop'],
    depth: 2,
    deviations: 2,
  },
  {
    name: 'hooks over four turns',
    replies: ['read write', 'text'],
    hooks: ['beforeStep', 'beforeToolUse', 'afterToolUse', 'afterStep', 'onStop'],
    depth: 4,
    deviations: 1,
    options: { maxTurns: 5 },
  },
  { name: 'stop hooks', replies: ['text', 'read', 'empty'], stopHooks: true, depth: 4, deviations: 3 },
  {
    name: 'answers without a text, and hooks that go on',
    replies: ['empty', 'text', 'write'],
    hooks: ['onStop', 'onError', 'afterExecution'],
    stopHooks: true,
    depth: 2,
    deviations: 2,
  },
  {
    name: 'stop hooks and a token target',
    replies: ['text', 'read', 'empty'],
    stopHooks: true,
    depth: 4,
    deviations: 2,
    options: { tokenBudget: 600 },
  },
  {
    name: 'permissions',
    replies: ['read write', 'write read read', 'task'],
    permissions: true,
    depth: 4,
    deviations: 2,
  },
  {
    name: 'permissions and tool hooks',
    replies: ['write', 'reads'],
    permissions: true,
    hooks: ['beforeToolUse'],
    depth: 2,
    deviations: 2,
  },
  {
    name: 'messages and stops from outside',
    replies: ['read', 'text', 'write'],
    inbox: true,
    depth: 4,
    deviations: 2,
    options: { maxTurns: 5 },
  },
  {
    name: 'context defence',
    replies: ['read', 'error prompt_too_long', 'window', 'error image', 'cut'],
    context: true,
    depth: 4,
    deviations: 3,
  },
  {
    name: 'compactions that ask a model',
    replies: ['read', 'text', 'error prompt_too_long', 'error overloaded', 'error connection', 'broken text'],
    aborts: ['user', 'time'],
    depth: 2,
    deviations: 2,
    options: { context: askingContext, maxBudgetUsd: 0.16, maxTurns: 3, maxRetries: 1, wrapUp: true },
  },
  {
    name: 'all that settles a run',
    replies: ['text', 'read'],
    inbox: true,
    stopHooks: true,
    guards: true,
    output: true,
    depth: 2,
    deviations: 2,
    options: { tokenBudget: 40, maxTurns: 3 },
  },
  {
    name: 'guards before a recovery',
    replies: ['text', 'cut', 'pause', 'refusal', 'refusal with call', 'window'],
    guards: true,
    context: true,
    depth: 2,
    deviations: 2,
    options: { maxTurns: 3 },
  },
  {
    name: 'all that follows the tools',
    replies: ['write', 'text'],
    permissions: true,
    guards: true,
    hooks: ['afterToolUse', 'afterStep'],
    aborts: ['user'],
    depth: 2,
    deviations: 2,
    options: { maxTurns: 2 },
  },
  {
    name: 'a budget met and a stop at once',
    replies: ['read', 'text'],
    inbox: true,
    depth: 2,
    deviations: 1,
    options: { maxBudgetUsd: 1, spentBeforeUsd: 0.9994 },
  },
  {
    name: 'hooks that replace what the model is shown',
    replies: ['read write', 'text'],
    hooks: ['beforeStep', 'afterToolUse', 'onStop', 'afterExecution'],
    hookAnswers: 'replacing',
    depth: 2,
    deviations: 2,
    options: { maxTurns: 2, maxBudgetUsd: 5 },
  },
  {
    name: 'an abort beside a stop',
    replies: ['read', 'text'],
    hooks: ['afterInference'],
    aborts: ['user'],
    depth: 1,
    deviations: 2,
  },
  {
    name: 'a tool that stops beside a hook that prevents',
    replies: ['read halt', 'text'],
    hooks: ['afterToolUse'],
    depth: 2,
    deviations: 2,
    options: { tools: [reader, halter] },
  },
  {
    name: 'a hook that prevents beside a call that waits',
    replies: ['reads', 'text'],
    permissions: true,
    hooks: ['afterToolUse'],
    depth: 1,
    deviations: 2,
  },
  { name: 'leaving early', replies: ['read write', 'text', 'task', 'hang'], abandons: true, depth: 3, deviations: 2 },
  {
    name: 'agents side by side, each in its own way',
    replies: ['task read task', 'text'],
    agents: [
      'text',
      'read',
      'reads',
      'write',
      'cut',
      'broken text',
      'error overloaded',
      'error image',
      'error authentication_failed',
    ],
    hooks: ['afterToolUse'],
    depth: 1,
    deviations: 2,
  },
  ...agentScenarios,
  {
    name: 'writing tools that fail, stop or are deaf',
    replies: ['write', 'read write', 'broken call'],
    aborts: ['user'],
    depth: 4,
    deviations: 2,
    options: { errorPolicy: ({ message }) => message.includes('disk') },
  },
]

const forever = (name: string, last: ReplyKind, more: Partial<Scenario> = {}): Scenario => ({
  name: `for ever: ${name}`,
  replies: [last],
  last,
  depth: 0,
  deviations: 0,
  ...more,
})

/** Endless behavior: each retry limit is used up to the last iteration. */
const endlessScenarios: readonly Scenario[] = [
  forever('reading', 'read', { options: { maxTurns: 12 } }),
  forever('the same call, seen', 'read', {
    noProgress: true,
    options: {
      maxTurns: 40,
      tools: [reader],
    },
  }),
  forever('the same call, seen, with a last answer', 'read', {
    noProgress: true,
    options: {
      wrapUp: true,
      tools: [reader],
    },
  }),
  forever('cut', 'cut'),
  forever('paused', 'pause'),
  forever('broken off', 'broken text'),
  forever('broken calls', 'broken call', { options: { maxTurns: 6 } }),
  forever('overloaded', 'error overloaded', { fallback: true }),
  forever('rate limited', 'error rate_limit'),
  forever('too long', 'error prompt_too_long'),
  forever('too long, with room', 'error prompt_too_long', {
    options: {
      context: {
        ...plainContext,
        autoCompact: true,
        drain: () => ({ trigger: 'collapse', run: room }),
        compact: () => ({ trigger: 'reactive', run: room }),
      },
    },
  }),
  forever('a full window', 'window', {
    options: { context: { ...plainContext, autoCompact: true, compact: () => ({ trigger: 'reactive', run: room }) } },
  }),
  forever('an image refused', 'error image', { prompt: image }),
  forever('over the blocking limit', 'text', { contextWindow: 3_001 }),
  forever('an answer that does not fit', 'text', {
    options: { output: { check: () => ({ fits: false, message: 'not JSON' }) } },
  }),
  forever('a stop hook that blocks, each time for another reason', 'text', { options: { stopHooks: [countsAnswers] } }),
  forever('a stop hook that blocks, each time for another reason, and turns between', 'text', {
    replies: ['text', 'read'],
    depth: 8,
    deviations: 1,
    options: { maxTurns: 3, stopHooks: [countsAnswers] },
  }),
  forever('a stop hook that blocks, and writes between', 'text', {
    replies: ['text', 'write', 'task'],
    depth: 5,
    deviations: 2,
    options: { maxTurns: 3, stopHooks: [{ id: 'no', handle: () => ({ block: 'again' }) }] },
  }),
  forever('a stop hook that blocks', 'text', {
    options: { stopHooks: [{ id: 'no', handle: () => ({ block: 'again' }) }] },
  }),
  forever('a stop hook that blocks, and turns between', 'text', {
    replies: ['text', 'read'],
    depth: 8,
    deviations: 1,
    options: { maxTurns: 3, stopHooks: [{ id: 'no', handle: () => ({ block: 'again' }) }] },
  }),
  forever('a token target', 'text', { options: { tokenBudget: 5_000 } }),
  forever('a token target, gaining', 'long text', { options: { tokenBudget: 5_000 } }),
  forever('a hook that goes on', 'text', {
    options: {
      hooks: [
        new CallableHook((context) => context.withState(context.state().withExecutionContinued('more')), {
          triggers: ['onStop'],
        }),
      ],
    },
  }),
  forever('a hook that goes on past the last turn', 'read', {
    options: {
      maxTurns: 2,
      hooks: [
        new CallableHook((context) => context.withState(context.state().withExecutionContinued()), {
          triggers: ['onStop'],
        }),
      ],
    },
  }),
  forever('a finish reason', 'read', { options: { stopWhen: new FinishReasonHook(['tool_use']) } }),
  forever('tokens', 'read', { options: { maxTotalTokens: 20_000 } }),
  forever('tokens, with a last answer', 'read', { options: { maxTotalTokens: 30_000, wrapUp: true } }),
  forever('dollars', 'read', { options: { maxBudgetUsd: 0.07 } }),
  forever('subagents', 'task', { options: { maxTurns: 8, maxSubagents: 5 } }),
  forever('a guard that throws', 'read', {
    options: {
      stopWhen: {
        name: 'broken',
        evaluate: () => {
          throw new Error('the guard is broken')
        },
      },
    },
  }),
  forever('a cancellation source that throws', 'read write', {
    options: {
      cancellation: [
        {
          cancellationSignal: (state) => {
            if (state.transcript.length > 1) throw new Error('the source is broken')
            return undefined
          },
        },
      ],
    },
  }),
  forever('an error policy that throws', 'write', {
    options: {
      tools: [
        {
          name: 'Write',
          description: '',
          inputSchema: { type: 'object' },
          readOnly: false,
          execute: () => {
            throw new Error('no')
          },
        },
      ],
      errorPolicy: () => {
        throw new Error('the policy is broken')
      },
    },
  }),
  forever('a stop hook with a cap', 'text', {
    options: { stopHookBlockCap: 2, stopHooks: [countsAnswers] },
  }),
  forever('a cancellation that comes', 'read', {
    options: {
      cancellation: [
        {
          cancellationSignal: (state) => (state.transcript.length > 4 ? StopSignal.userRequested('enough') : undefined),
        },
      ],
    },
  }),
]

const others = [...askingScenarios, ...abortScenarios, ...settingsScenarios, ...mediaScenarios, ...contextScenarios]
export const scenarios: readonly Scenario[] = [
  ...deviatingScenarios,
  ...others,
  ...endlessScenarios,
  ...hostileScenarios,
  ...goalScenarios,
  ...limitScenarios,
  ...waitingScenarios,
  ...pauseScenarios,
  ...verificationScenarios,
]
