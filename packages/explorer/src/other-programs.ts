import {
  CallableHook,
  type EndingReason,
  allowAll,
  endings,
  type HookContext,
  type RunOptions,
  StopSignal,
} from '@halting/core'
import { askingContext } from './layers.ts'

/** Another program that continues a run: it has other options. */
export interface OtherProgram {
  /** Its options in place of the same ones. */
  readonly options: (was: RunOptions) => Partial<RunOptions>
  /** Endings that are possible with it but not without it, in addition to `completed`. */
  readonly endings: readonly EndingReason[] | 'any'
}

const withHook =
  (trigger: 'beforeToolUse' | 'afterStep' | 'beforeStep', handle: (context: HookContext) => HookContext) =>
  ({ hooks = [] }: RunOptions): Partial<RunOptions> => ({
    hooks: [...hooks, new CallableHook(handle, { triggers: [trigger], id: `other-${trigger}` })],
  })

const enough = new StopSignal({ reason: 'token_limit', message: 'enough', source: 'other' })

/** A budget that leaves no room. */
export const lessMoney: OtherProgram = { options: () => ({ maxBudgetUsd: 0.03 }), endings: ['max_budget_usd'] }

/** What a new release of a program may change between two processes. */
export const otherPrograms: { readonly [name: string]: OtherProgram } = {
  'another prompt': { options: () => ({ system: 'You are another.' }), endings: [] },
  'another model': {
    options: ({ model }) => ({ model: { ...model, id: 'other', maxOutputTokens: 5_000, contextWindow: 50_000 } }),
    endings: [],
  },
  'a fallback model': {
    options: ({ model }) => ({ fallbackModel: { ...model, id: 'other' }, maxRetries: 0 }),
    endings: ['model_error'],
  },
  'no tools': { options: () => ({ tools: [] }), endings: [] },
  'tools that want another input': {
    options: ({ tools = [] }) => ({
      tools: tools.map((tool) => ({ ...tool, inputSchema: { type: 'object', required: ['to'] } })),
    }),
    endings: [],
  },
  'no hooks': { options: () => ({ hooks: [], stopHooks: [] }), endings: ['max_turns'] },
  'a hook that denies': {
    options: withHook('beforeToolUse', (context) => context.withBlocked('no more')),
    endings: [],
  },
  'a hook that stops': {
    options: withHook('afterStep', (context) => context.withState(context.state().withStopSignal(enough))),
    endings: ['token_limit'],
  },
  'a hook that replaces': {
    options: withHook('beforeStep', (context) =>
      context.withState(context.state().withMessages([{ role: 'user', content: 'so far, so good' }])),
    ),
    endings: [],
  },
  'another guard': {
    options: () => ({
      stopWhen: { name: 'other', evaluate: ({ totalTokens }) => (totalTokens > 100 ? enough : undefined) },
    }),
    endings: ['token_limit'],
  },
  'rules that deny': {
    options: () => ({ permissions: { denies: () => 'closed', decide: () => ({ behavior: 'allow' }) } }),
    endings: [],
  },
  'rules that ask': {
    options: () => ({
      permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'well?' }) },
    }),
    endings: ['needs_approval'],
  },
  'no rules': { options: () => ({ permissions: allowAll }), endings: ['max_turns'] },
  'a stop hook that blocks': {
    options: () => ({
      stopHooks: [{ id: 'other', handle: ({ stopHookActive }) => (stopHookActive ? {} : { block: 'not yet' }) }],
    }),
    endings: ['max_turns'],
  },
  'a context defence': { options: () => ({ context: askingContext }), endings: [] },
  'fewer turns': { options: () => ({ maxTurns: 1 }), endings: ['max_turns'] },
  'more turns': { options: () => ({ maxTurns: 9 }), endings: [] },
  'fewer turns, and a last answer': { options: () => ({ maxTurns: 2, wrapUp: true }), endings: ['max_turns'] },
  'less money': lessMoney,
  'fewer tokens': { options: () => ({ maxTotalTokens: 5_000 }), endings: ['token_limit'] },
  'less time': { options: () => ({ maxDurationMs: 3 }), endings: ['time_limit'] },
}

/** Changes of a run with goals: of the goals themselves, their tries, and what follows an answer. Checks are then made that were not made before, or have another outcome. */
export const goalPrograms: { readonly [name: string]: OtherProgram } = {
  'the same goals under other names': {
    options: ({ until = [] }) => ({ until: until.map((goal) => ({ ...goal, name: `${goal.name}, renamed` })) }),
    endings: 'any',
  },
  'no goals in its options': { options: () => ({ until: [] }), endings: 'any' },
  'goals that are met': {
    options: ({ until = [] }) => ({ until: until.map((goal) => ({ ...goal, check: () => ({ met: true }) })) }),
    endings: 'any',
  },
  'fewer tries': { options: () => ({ maxGoalTries: 1 }), endings: 'any' },
  'more tries, fewer turns': {
    options: () => ({ maxGoalTries: 9, maxTurns: 2 }),
    endings: 'any',
  },
  'a person who is there': { options: () => ({ unmetWithoutWork: 'end' }), endings: 'any' },
  'goals that end it at once': {
    options: () => ({ skipIfMet: true, stopWhenMet: true }),
    endings: 'any',
  },
}

/** Endings by a limit on turns or calls. */
const stepsLimits = (Object.keys(endings) as readonly EndingReason[]).filter(
  (reason) => endings[reason].category === 'steps_limit',
)

/** Changes of counted limits of a run: some are already used up, others have something left again. */
export const limitPrograms: { readonly [name: string]: OtherProgram } = {
  'fewer calls': { options: () => ({ maxToolCalls: 2 }), endings: ['max_tool_calls'] },
  'more calls': { options: () => ({ maxToolCalls: 8 }), endings: stepsLimits },
  'no reminders': { options: () => ({ limitReminders: false }), endings: stepsLimits },
}
