import * as fc from 'fast-check'
import type { SettingsChange } from '@halting/core'

// What may happen in a random run with goals.

/** The model's replies. `half`: with a stop reason that a guard takes for the end. */
export type DrawnReply =
  | 'edit'
  | 'broken edit'
  | 'failing command'
  | 'look'
  | 'edit and look'
  | 'agent'
  | 'agent beside'
  | 'text'
  | 'other text'
  | 'json'
  | 'empty'
  | 'cut'
  | 'half'

/** How a process continues the work of another. */
export interface DrawnProcess {
  /** The number of further records after which it dies. If the run ends earlier, it never dies. */
  readonly diesAfter: number
  /** The goals in its options: those of the first process, none, or others. */
  readonly until: 'same' | 'none' | 'other'
}

export interface DrawnRun {
  readonly replies: readonly DrawnReply[]
  readonly agentReplies: readonly DrawnReply[]
  /** Whether the goals hold, by the number of changes of the tree. */
  readonly holds: readonly boolean[]
  /** Whether a check reports the opposite, by its number. */
  readonly flips: readonly boolean[]
  /** Whether protected files were changed, by the number of changes of the tree. */
  readonly tampered: readonly boolean[] | null
  readonly goals: number
  readonly stable: number
  readonly agentGoals: boolean
  readonly maxTurns: number
  readonly maxGoalTries: number
  readonly limit: 'none' | 'usd' | 'tokens' | 'time'
  readonly wrapUp: boolean
  readonly skipIfMet: boolean
  readonly stopWhenMet: boolean
  readonly unmetWithoutWork: 'send_back' | 'end'
  readonly output: boolean
  readonly tokenBudget: number | null
  readonly guard: boolean
  readonly stopHooks: readonly ('pass' | 'block' | 'prevent')[]
  readonly continuesAtStop: readonly boolean[]
  readonly settings: readonly { readonly after: number; readonly change: keyof typeof drawnSettings }[]
  readonly abortAfter: number | null
  readonly processes: readonly DrawnProcess[]
  readonly store: 'memory' | 'files'
}

/** Settings that a person may change during the run. */
export const drawnSettings = {
  'another goal': { until: [{ name: 'another' }] },
  'the same anew': { until: [{ name: 'goal 0', set: 2 }] },
  'no goal': { until: [] },
  'those of the options': { until: null },
  'one try': { limits: { maxGoalTries: 1 } },
  'three tries': { limits: { maxGoalTries: 3 } },
  'a plan': { permissionMode: 'plan' },
  'no plan': { permissionMode: 'normal' },
} satisfies { readonly [name: string]: SettingsChange }

const often = <T>(usual: T, ...rare: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(usual, ...rare) })

const replies: fc.Arbitrary<readonly DrawnReply[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom<DrawnReply>('edit', 'text', 'other text', 'look', 'failing command', 'broken edit'),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom<DrawnReply>('agent', 'agent beside', 'json', 'empty', 'cut', 'half', 'edit and look'),
    },
  ),
  { minLength: 1, maxLength: 10 },
)

export const drawnRuns: fc.Arbitrary<DrawnRun> = fc.record<DrawnRun>({
  replies,
  agentReplies: fc.array(
    fc.constantFrom<DrawnReply>('edit', 'text', 'look', 'failing command', 'other text', 'empty'),
    {
      minLength: 1,
      maxLength: 4,
    },
  ),
  holds: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
  flips: fc.oneof(
    { weight: 3, arbitrary: fc.constant([false]) },
    { weight: 1, arbitrary: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }) },
  ),
  tampered: fc.option(fc.array(often(false, true), { minLength: 1, maxLength: 5 }), { nil: null, freq: 2 }),
  goals: often(1, 2),
  stable: often(1, 2),
  agentGoals: fc.boolean(),
  maxTurns: fc.integer({ min: 1, max: 8 }),
  maxGoalTries: fc.integer({ min: 1, max: 4 }),
  limit: often<DrawnRun['limit']>('none', 'usd', 'tokens', 'time'),
  wrapUp: often(false, true),
  skipIfMet: often(false, true),
  stopWhenMet: often(false, true),
  unmetWithoutWork: often<DrawnRun['unmetWithoutWork']>('send_back', 'end'),
  output: often(false, true),
  tokenBudget: often<number | null>(null, 60),
  guard: often(false, true),
  stopHooks: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.constantFrom('pass', 'block', 'prevent'), { minLength: 1, maxLength: 3 }) },
  ),
  continuesAtStop: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }) },
  ),
  settings: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(
        fc.record({
          after: fc.integer({ min: 1, max: 40 }),
          // Keys of a constant.
          change: fc.constantFrom(...(Object.keys(drawnSettings) as (keyof typeof drawnSettings)[])),
        }),
        { maxLength: 3 },
      ),
    },
  ),
  abortAfter: fc.option(fc.integer({ min: 1, max: 40 }), { nil: null, freq: 2 }),
  processes: fc.array(
    fc.record({
      diesAfter: fc.integer({ min: 1, max: 30 }),
      until: often<DrawnProcess['until']>('same', 'none', 'other'),
    }),
    { maxLength: 4 },
  ),
  store: often<DrawnRun['store']>('memory', 'files'),
})
