import type { SessionConfigOption, SessionConfigSelectOption } from '@agentclientprotocol/sdk'
import type { LimitsInForce, SessionGoal, SessionSnapshot } from '@halting/core/session'
import type { LimitsChange } from '@halting/core'
import { counted, elapsed, money } from '../io/figures.ts'
import { settableLimits } from '../frontends/settable-limits.ts'

type Figures = SessionSnapshot['figures']

interface LimitOption {
  readonly id: string
  readonly name: string
  readonly usual: readonly number[]
  /** Formats the limit as a person would type it. */
  readonly valueOf: (limit: number) => string
  readonly nameOf: (limit: number) => string
  readonly describe: (figures: Figures) => string
}

const minute = 60_000

const inDollars = {
  usual: [0.5, 1, 2, 5, 10, 20, 50, 100],
  valueOf: String,
  nameOf: (usd: number) => `$${usd}`,
}

/** Each limit as an option of a session (spec R-ACP-10). */
const options: { readonly [limit in keyof LimitsInForce]: LimitOption } = {
  maxTurns: {
    id: '_halting.max_turns',
    name: 'Turn limit',
    usual: [5, 10, 20, 30, 50, 100, 200, 500],
    valueOf: String,
    nameOf: settableLimits.maxTurns.format,
    describe: ({ turns }) => `Maximum turns of one run; ${counted(turns)} used`,
  },
  maxBudgetUsd: {
    id: '_halting.budget_usd',
    name: 'Session budget',
    ...inDollars,
    describe: ({ sessionUsd }) => `Maximum US dollars of the session; ${money(sessionUsd)} used`,
  },
  maxTotalTokens: {
    id: '_halting.max_tokens',
    name: 'Token limit',
    usual: [100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000],
    valueOf: String,
    nameOf: settableLimits.maxTotalTokens.format,
    describe: ({ settledTokens }) => `Maximum tokens of one run and its subagents; ${counted(settledTokens)} used`,
  },
  maxDurationMs: {
    id: '_halting.max_duration',
    name: 'Time limit',
    usual: [5, 10, 20, 30, 60, 120, 240].map((minutes) => minutes * minute),
    valueOf: durationText,
    nameOf: (ms) => (ms % minute === 0 ? `${counted(ms / minute)} min` : elapsed(ms)),
    describe: ({ usedMs }) => `Maximum working time of one run; ${elapsed(usedMs)} used`,
  },
  maxRunUsd: {
    id: '_halting.run_usd',
    name: 'Run budget',
    ...inDollars,
    describe: ({ settledUsd }) => `Maximum US dollars of one run; ${money(settledUsd)} used`,
  },
  maxToolCalls: {
    id: '_halting.max_tool_calls',
    name: 'Tool call limit',
    usual: [10, 20, 50, 100, 200, 500, 1_000],
    valueOf: String,
    nameOf: settableLimits.maxToolCalls.format,
    describe: ({ toolCalls }) => `Maximum tool calls of one run and its subagents; ${counted(toolCalls)} used`,
  },
}

// This cast is safe: the keys of the record are the names of the limits.
const limits = Object.keys(options) as readonly (keyof LimitsInForce)[]

/** The names of the limit options. */
export const limitOptionNames: { readonly [limit in keyof LimitsInForce]: string } = {
  maxTurns: options.maxTurns.name,
  maxBudgetUsd: options.maxBudgetUsd.name,
  maxTotalTokens: options.maxTotalTokens.name,
  maxDurationMs: options.maxDurationMs.name,
  maxRunUsd: options.maxRunUsd.name,
  maxToolCalls: options.maxToolCalls.name,
}

const triesId = '_halting.goal_tries'

export const limitIds: readonly string[] = [...limits.map((limit) => options[limit].id), triesId]

/** The value for no limit. */
const noLimit = 'none'

/** The limits as options that a person sees and sets, including reached ones. */
export function limitOptions({
  limits: inForce,
  figures,
  goal,
}: Pick<SessionSnapshot, 'limits' | 'figures' | 'goal'>): SessionConfigOption[] {
  const ofRuns = limits.map((limit): SessionConfigOption => {
    const { id, name, valueOf, describe } = options[limit]
    const current = inForce[limit]
    return {
      type: 'select',
      id,
      name,
      category: 'other',
      currentValue: current === null ? noLimit : valueOf(current),
      options: choicesOf(options[limit], current),
      description: describe(figures),
    }
  })
  return goal === null ? ofRuns : [...ofRuns, triesOption(goal)]
}

/** For a session with goals: how often an answer is sent back. This limit cannot be removed. */
function triesOption({ tries, maxTries }: SessionGoal): SessionConfigOption {
  const all = [...new Set([1, 3, 5, 10, 20, 50, 100, maxTries])].toSorted((a, b) => a - b)
  return {
    type: 'select',
    id: triesId,
    name: 'Goal tries',
    category: 'other',
    currentValue: String(maxTries),
    options: all.map((limit) => ({ value: String(limit), name: settableLimits.maxGoalTries.format(limit) })),
    description: `Maximum number of times an answer that misses the goal is sent back; ${counted(tries)} used`,
  }
}

function choicesOf(
  { usual: usualValues, valueOf, nameOf }: LimitOption,
  current: number | null,
): SessionConfigSelectOption[] {
  const all = current === null ? usualValues : [...new Set([...usualValues, current])].toSorted((a, b) => a - b)
  return [...all.map((limit) => ({ value: valueOf(limit), name: nameOf(limit) })), { value: noLimit, name: 'No limit' }]
}

/** The change for an option, also for a value that is not listed, since clients may allow typing. A string describes a problem. Undefined for an unknown id. */
export function limitChangeOf(id: string, value: string): LimitsChange | string | undefined {
  const limit = id === triesId ? 'maxGoalTries' : limits.find((one) => options[one].id === id)
  if (limit === undefined) return undefined
  if (value === noLimit && limit !== 'maxGoalTries') return { [limit]: null }
  const read = settableLimits[limit].parse(value)
  if ('value' in read) return { [limit]: read.value }
  return `Invalid limit "${value}": expected ${read.expected}${limit === 'maxGoalTries' ? '' : `, or "${noLimit}"`}.`
}

function durationText(ms: number): string {
  if (ms % minute === 0) return `${ms / minute}m`
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`
}
