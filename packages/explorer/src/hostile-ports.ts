import {
  type AgentState,
  type GuardView,
  CallableHook,
  type HookContext,
  type HookTrigger,
  type StopHookInput,
  type RunOptions,
  StopSignal,
  AgentStopException,
  type PermissionRequest,
  type AnyTool,
  type ToolContext,
} from '@halting/core'
import { plainContext, type ContextView, isAgentTool, type SpawnContext } from '@halting/core/adapters'
import { circle, garbage, throwing } from './core-internals.ts'
import type { Choices } from './choices.ts'

// Untrusted ports: each call is answered correctly, or with something that no type allows.

/** Ports that may be untrusted. */
export type UntrustedPort =
  | 'execute'
  | 'validate'
  | 'readOnly'
  | 'spawn'
  | 'progress'
  | `hook ${HookTrigger}`
  | 'stop hook'
  | 'denies'
  | 'decide'
  | 'cancellation'
  | 'guard'
  | 'remaining'
  | 'error policy'
  | 'output'
  | 'cost'
  | 'worst case'
  | 'estimate'
  | 'context'
  | 'compaction'
  | 'save'
  | 'after the run'
  | 'terminal'

/** Ports whose answers a run requires: without one it ends as `error`. No other port can end it so. */
export const requiredPorts: ReadonlySet<UntrustedPort> = new Set<UntrustedPort>([
  'cancellation',
  'guard',
  'error policy',
  'output',
  'worst case',
  'estimate',
  'context',
])

/** What a port may do instead, by a name for the path. */
type Misbehaviors = { readonly [name: string]: (input: never) => unknown }

const makeGarbage = (what: string): unknown => garbage.find(([name]) => name === what)?.[1]()

const returns = (...names: readonly string[]): Misbehaviors =>
  Object.fromEntries(names.map((name) => [`gives ${name}`, () => makeGarbage(name)]))
const resolves = (...names: readonly string[]): Misbehaviors =>
  Object.fromEntries(
    names.map((name) => [`gives later ${name}`, () => Promise.resolve().then(() => makeGarbage(name))]),
  )
const throws = (...names: readonly string[]): Misbehaviors =>
  Object.fromEntries(
    names.map((name) => [
      `throws ${name}`,
      () => {
        throw makeGarbage(name)
      },
    ]),
  )
const rejects = (...names: readonly string[]): Misbehaviors =>
  Object.fromEntries(names.map((name) => [`rejects with ${name}`, () => Promise.reject(makeGarbage(name))]))
const answers = (misbehaviors: { readonly [what: string]: () => unknown }): Misbehaviors =>
  Object.fromEntries(Object.entries(misbehaviors).map(([what, way]) => [`answers ${what}`, way]))

const anything: Misbehaviors = {
  ...returns(
    'nothing',
    'null',
    'no number',
    'a function',
    'a circle',
    'an object without a prototype',
    'an object whose fields throw',
    'a thenable that throws',
    'a thenable that rejects',
    'a proxy that was revoked',
  ),
  ...resolves('a circle'),
  ...throws('nothing', 'an object without a prototype', 'an error whose message throws'),
  ...rejects('null'),
  'throws a stop that says nothing readable': () => {
    throw new AgentStopException({ message: circle() as never, context: circle() as never, source: 7 as never })
  },
}

const forTools: Misbehaviors = {
  ...anything,
  ...returns('content that is no list of blocks', 'blocks that are none', 'details that JSON cannot hold'),
  ...answers({ 'a failure that is none': () => ({ content: '', isError: 'no', details: circle() }) }),
}

const changesContext: Misbehaviors = {
  'changes all to garbage': (input: HookContext) => {
    const state = input
      .state()
      .withMetadata('odd', circle() as never)
      .withUserMessage([null] as never)
      .withStopSignal(
        new StopSignal({
          reason: 'odd' as never,
          message: {} as never,
          context: circle() as never,
          source: 7 as never,
        }),
      )
    return input.withState(state)
  },
  'replaces all by nothing': (input: HookContext) => input.withState(input.state().withMessages([])),
  'replaces all by garbage': (input: HookContext) => input.withState(input.state().withMessages([null] as never)),
  'gives an input that is none': (input: HookContext) => input.withToolInput(circle()),
  'gives an output that is none': (input: HookContext) => input.withToolOutput([null] as never),
  'allows nothing known': (input: HookContext) => input.withPermission('maybe' as never),
}

/** Answers of each port that look half right, in addition to those that are no answer at all. */
const misbehaviorsOf: { readonly [port: string]: Misbehaviors } = {
  execute: forTools,
  progress: anything,
  validate: { ...anything, ...answers({ 'no input': () => ({ valid: true }), 'no reason': () => ({ valid: false }) }) },
  spawn: {
    ...anything,
    ...answers({
      'a prompt that is none': () => ({ prompt: [null] }),
      'tools that are none': () => ({ prompt: 'a part', tools: [null, 7], agentType: circle() }),
      'turns that are none': () => ({ prompt: 'a part', maxTurns: Number.NaN }),
    }),
  },
  'stop hook': {
    ...anything,
    ...answers({
      'a block that is none': () => ({ block: 7, prevent: {} }),
      'a block beside what cannot be read': () => throwing({ block: 'again' }, 'prevent'),
      'an error that is none': () => ({ error: circle(), systemMessage: [] }),
    }),
  },
  decide: {
    ...anything,
    ...answers({
      'a denial without words': () => ({ behavior: 'deny' }),
      'an allowance with garbage': () => ({ behavior: 'allow', updatedInput: circle() }),
      'a question without words': () => ({ behavior: 'ask', message: circle() }),
    }),
  },
  cancellation: { ...anything, ...answers({ 'a signal that is none': () => ({ reason: 'odd', message: 7 }) }) },
  guard: { ...anything, ...answers({ 'a signal that is none': () => ({ reason: 'odd', message: 7 }) }) },
  remaining: {
    ...anything,
    ...answers({ 'figures that are none': () => ({ guard: 7, used: Number.NaN, limit: 'x' }) }),
  },
  output: {
    ...anything,
    ...answers({
      'a fit that is none': () => ({ fits: 'yes', value: circle() }),
      'no reason': () => ({ fits: false }),
    }),
  },
  cost: {
    ...returns('null', 'no number', 'a circle'),
    ...answers({ 'less than nothing': () => -1, 'no end': () => Infinity }),
    ...throws('nothing'),
  },
  'worst case': {
    ...returns('nothing', 'no number'),
    ...answers({ 'less than nothing': () => -1 }),
    ...throws('null'),
  },
  estimate: { ...returns('nothing', 'no number'), ...answers({ 'less than nothing': () => -1 }), ...throws('null') },
  context: {
    ...anything,
    ...answers({
      'a compaction that does nothing': () => ({ trigger: 'auto' }),
      'a compaction of no kind': () => ({ trigger: circle(), run: () => ({ kind: 'compacted', messages: [] }) }),
    }),
  },
  compaction: {
    ...anything,
    ...answers({
      'messages that are none': () => ({ kind: 'compacted', messages: [null], preTokens: 1, postTokens: 1 }),
      'figures that are none': () => ({
        kind: 'compacted',
        messages: [{ role: 'user', content: 'so far' }],
        preTokens: circle(),
        postTokens: Number.NaN,
      }),
      'words of the model last': () => ({
        kind: 'compacted',
        messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'call', name: 'Read', input: {} }] }],
        preTokens: 1,
        postTokens: 1,
      }),
    }),
  },
}

/** The answer of a port: the correct one, or a misbehavior. `label` names the moment. */
type Ask = <T>(port: UntrustedPort, label: string, input: unknown, plain: () => T) => T

function createAsk(ports: readonly UntrustedPort[], choices: Choices, only: readonly string[] | undefined): Ask {
  return (port, label, input, plain) => {
    if (!ports.includes(port)) return plain()
    const misbehaviors = port.startsWith('hook ')
      ? { ...anything, ...changesContext }
      : (misbehaviorsOf[port] ?? anything)
    const names = Object.keys(misbehaviors).filter((way) => only?.includes(way) !== false)
    const name = choices.choose(`stranger ${port} ${label}`, ['plain', ...names])
    // An untrusted port respects no type.
    return name === 'plain' ? plain() : (misbehaviors[name]?.(input as never) as never)
  }
}

/** The same options, in which the path decides what these ports answer. */
export function withUntrustedPorts(
  options: RunOptions,
  ports: readonly UntrustedPort[],
  choices: Choices,
  only: readonly string[] | undefined,
): RunOptions {
  const ask = createAsk(ports, choices, only)
  const has = (...port: readonly UntrustedPort[]): boolean => port.some((each) => ports.includes(each))
  const triggers = ports.flatMap((port) =>
    port.startsWith('hook ') ? [port.slice('hook '.length) as HookTrigger] : [],
  )
  return {
    ...options,
    tools: (options.tools ?? []).map((tool) => untrustedTool(tool, ask, has('readOnly'), has('validate'))),
    ...(triggers.length > 0 && {
      hooks: [...(options.hooks ?? []), ...triggers.map((trigger) => untrustedHook(trigger, ask))],
    }),
    ...(has('stop hook') && { stopHooks: [{ id: 'stranger', handle: untrustedStopHook(ask) }] }),
    ...(has('denies', 'decide') && {
      permissions: {
        denies: ({ call }: PermissionRequest) => ask('denies', call.id, call, () => undefined),
        decide: ({ call }: PermissionRequest) => ask('decide', call.id, call, () => ({ behavior: 'allow' as const })),
      },
    }),
    ...(has('cancellation') && {
      cancellation: [
        {
          cancellationSignal: (state: AgentState) =>
            ask('cancellation', String(state.transcript.length), state, () => undefined),
        },
      ],
    }),
    ...(has('guard', 'remaining') && { stopWhen: untrustedGuard(ask) }),
    ...(has('error policy') && {
      errorPolicy: ({ name, message }: { readonly name: string; readonly message: string }) =>
        ask('error policy', `${name} ${message}`, name, () => false),
    }),
    ...(has('output') && {
      output: {
        check: (answer: string) => ask('output', answer, answer, () => ({ fits: true as const, value: answer })),
      },
    }),
    ...(has('cost', 'worst case') && { prices: untrustedPrices(options, ask) }),
    ...(has('estimate') && {
      tokens: { estimate: (text: string) => ask('estimate', '', text, () => Math.ceil(text.length / 4)) },
    }),
    ...(has('context', 'compaction') && { context: untrustedContext(ask) }),
    ...(has('save') && {
      largeResults: {
        ...options.largeResults,
        save: (result) => ask('save', result.idempotencyKey, result, () => result.callId),
      },
    }),
    ...(has('after the run') && {
      postRun: [{ name: 'stranger', start: () => ask('after the run', '', undefined, () => Promise.resolve()) }],
    }),
    ...(has('terminal') && { onResult: (terminal) => ask('terminal', '', terminal, () => undefined) }),
  }
}

function untrustedTool(tool: AnyTool, ask: Ask, readOnly: boolean, validates: boolean): AnyTool {
  const checked = {
    ...tool,
    ...(readOnly && { readOnly: () => ask('readOnly', tool.name, undefined, () => tool.readOnly === true) }),
    ...(validates && {
      validate: (input: unknown) =>
        ask('validate', tool.name, input, () => ({ valid: true as const, input: input as never })),
    }),
  }
  if (isAgentTool(checked)) {
    const { spawn } = checked
    return {
      ...checked,
      spawn: (input: never, context: SpawnContext) => ask('spawn', '', input, () => spawn(input, context)),
    }
  }
  const { execute } = checked
  return {
    ...checked,
    execute(input: never, context: ToolContext) {
      const { idempotencyKey } = context
      context.progress(ask('progress', idempotencyKey, undefined, () => 1))
      // The tool has done its work, whatever it returns.
      const plain = execute(input, context)
      return ask('execute', idempotencyKey, input, () => plain)
    },
  }
}

function untrustedHook(trigger: HookTrigger, ask: Ask): CallableHook {
  const handle = (context: HookContext): HookContext => {
    const place = `${context.state().transcript.length} ${context.toolCall?.id ?? ''} ${context.error?.name ?? ''}`
    return ask(`hook ${trigger}`, place, context, () => context)
  }
  return new CallableHook(handle, { triggers: [trigger], id: `stranger-${trigger}` })
}

function untrustedStopHook(ask: Ask) {
  return (input: StopHookInput) => ask('stop hook', String(input.messagesForQuery.length), input, () => ({}))
}

function untrustedGuard(ask: Ask): RunOptions['stopWhen'] {
  const place = ({ checkpoint, steps, totalTokens }: GuardView): string => `${checkpoint} ${steps} ${totalTokens}`
  return {
    name: 'stranger',
    checkpoints: ['before_turn', 'after_reply', 'after_tools'],
    evaluate: (view) => ask('guard', place(view), view, () => undefined),
    remaining: (view) => ask('remaining', place(view), view, () => undefined),
  }
}

function untrustedPrices({ prices }: RunOptions, ask: Ask): NonNullable<RunOptions['prices']> {
  return {
    cost: (model, usage) => ask('cost', JSON.stringify(usage), usage, () => prices?.cost(model, usage)),
    // Also called once when options are checked, which is not part of the run.
    worstCase: (model, bound) => {
      const plain = (): number | undefined => prices?.worstCase(model, bound)
      return bound.inputTokens === 1 ? plain() : ask('worst case', String(bound.inputTokens), bound, plain)
    },
  }
}

function untrustedContext(ask: Ask): NonNullable<RunOptions['context']> {
  const layer = (trigger: 'auto' | 'collapse' | 'reactive', { state }: ContextView) => {
    const place = `${trigger} ${state.transcript.length}`
    const messages = [{ role: 'user', content: 'so far, so good' }] as const
    const plain = { kind: 'compacted', messages, preTokens: 100, postTokens: 10 } as const
    const isDue = trigger !== 'auto' || (state.spent.request === 2 && state.spent.compactions === 0)
    const compaction = { trigger, run: async () => ask('compaction', place, undefined, () => plain) }
    return ask('context', place, undefined, () => (isDue ? compaction : undefined))
  }
  return {
    ...plainContext,
    autoCompact: true,
    beforeRequest: (view) => layer('auto', view),
    drain: (view) => layer('collapse', view),
    compact: (view) => layer('reactive', view),
  }
}
