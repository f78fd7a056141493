import type { Bound, Certificate, RunOptions } from '@halting/core'
import { turnsWithoutPrice } from '@halting/agent/session-settings'
import type { Forecast } from '@halting/core/adapters'
import { flagOf, type FlagLimit } from '../headless/limit-advice.ts'
import { counted, elapsed, money } from '../io/figures.ts'
import type { Style } from '../io/style.ts'

type BoundName = Exclude<keyof Certificate, 'halts' | 'notes' | 'standingBudgets'>

/** A bound of the certificate, and whether its figure helps a person. */
export type HelpfulBound = Bound & {
  /** False for a figure that no limit gives and that is thousands of times what a run comes to; true for others, absent where there is no figure. */
  readonly useful?: boolean
  /** Flags, any of which gives a useful bound, where there is none. */
  readonly add?: readonly string[]
  /** It is a default of the program: nobody gave it. */
  readonly default?: true
}

/** The certificate with what is of use in it (spec R-LIM-66). */
export type HelpfulBounds = {
  readonly [Name in BoundName]: Name extends 'checks' ? HelpfulBound | undefined : HelpfulBound
}

/** A figure that is so many times the likely one says nothing about a run. */
const mostTimesLikely = 1_000

/** What is known of a run beside its certificate. */
interface CheckedRun {
  readonly options: Pick<RunOptions, 'maxTotalTokens' | 'maxBudgetUsd' | 'maxRunUsd' | 'tools' | 'maxSubagents'>
  readonly forecast: Forecast
  /** Limits that are defaults of the program. */
  readonly defaults: readonly FlagLimit[]
}

/** Says of each bound whether its figure helps, and which flag gives one that does. */
export function helpfulBounds(bounds: Certificate, run: CheckedRun): HelpfulBounds {
  const of = (name: BoundName, bound: Bound): HelpfulBound => {
    if (!bound.bounded) return { ...bound, ...flagsToAdd(name, bounds, run) }
    const likely = likelyFigure(name, bounds, run)
    const useful = isDirectLimit(name, bound.value, run) || bound.value <= mostTimesLikely * likely
    const isDefault = run.defaults.some((limit) => bound.because.split(/\W/, 1)[0] === limit)
    return { ...bound, useful, ...(!useful && flagsToAdd(name, bounds, run)), ...(isDefault && { default: true }) }
  }
  const { checks } = bounds
  return {
    turns: of('turns', bounds.turns),
    laps: of('laps', bounds.laps),
    requests: of('requests', bounds.requests),
    toolCalls: of('toolCalls', bounds.toolCalls),
    tokens: of('tokens', bounds.tokens),
    usd: of('usd', bounds.usd),
    checks: checks && of('checks', checks),
    seconds: of('seconds', bounds.seconds),
  }
}

/** Whether the figure is a limit of its own and no product of others. */
function isDirectLimit(name: BoundName, value: number, { options }: CheckedRun): boolean {
  switch (name) {
    case 'usd':
      return Math.min(options.maxBudgetUsd ?? Infinity, options.maxRunUsd ?? Infinity) !== Infinity
    case 'tokens':
      return options.maxTotalTokens === value
    case 'laps':
    case 'requests':
      return false
    case 'turns':
    case 'toolCalls':
    case 'checks':
    case 'seconds':
      return true
  }
}

/** What a long run comes to: as many requests as it has turns. Where none can begin, what its first request needs, and all turns that it may have. */
function likelyFigure(
  name: BoundName,
  { turns }: Certificate,
  { forecast: { canBegin, likely, first } }: CheckedRun,
): number {
  if (name === 'usd') return Math.max(likely.usd ?? 0, first.usd ?? 0)
  if (name === 'tokens') return Math.max(likely.tokens, first.tokens)
  return canBegin || !turns.bounded ? Math.max(likely.turns, 1) : turns.value
}

const boundingLimits: { readonly [Name in BoundName]: readonly FlagLimit[] } = {
  usd: ['maxBudgetUsd'],
  turns: ['maxTurns'],
  toolCalls: ['maxToolCalls'],
  tokens: ['maxTotalTokens', 'maxBudgetUsd'],
  seconds: ['maxDurationMs'],
  checks: [],
  laps: [],
  requests: [],
}

/** A budget can be kept where all models have a price; where there is one already, it left the tokens without a bound. */
function flagsToAdd(name: BoundName, { usd }: Certificate, run: CheckedRun): Pick<HelpfulBound, 'add'> {
  const canBudget = usd.bounded && !isDirectLimit('usd', usd.value, run)
  const add = boundingLimits[name]
    .filter((limit) => limit !== 'maxBudgetUsd' || canBudget)
    .map((limit) => flagOf(limit))
  return add.length === 0 ? {} : { add }
}

const rows: readonly (readonly [BoundName, string, (value: number) => string])[] = [
  ['usd', 'cost', (value) => money(value)],
  ['turns', 'turns', counted],
  ['toolCalls', 'tool calls', counted],
  ['tokens', 'tokens', counted],
  ['seconds', 'time', (value) => elapsed(value * 1_000)],
  ['checks', 'checks', counted],
  ['laps', 'iterations', counted],
  ['requests', 'requests', counted],
]

/** What no run exceeds, a line each: the figure and its reason, or in words that there is none that helps (spec R-LIM-65, R-LIM-66). */
export function boundsText(bounds: HelpfulBounds, halts: boolean, style: Style): readonly string[] {
  const verdict = halts ? style.green('halts') : style.red('may never stop')
  const cells = rows.flatMap(([name, label, format]) => {
    const bound = bounds[name]
    return bound === undefined ? [] : [[label, boundFigure(bound, format), boundReason(bound)] as const]
  })
  const width = Math.max(...cells.map(([, value]) => value.length))
  const labels = Math.max(...cells.map(([label]) => label.length)) + 2
  return [
    `Every run with these flags ${verdict}. It cannot exceed:`,
    '',
    ...cells.map(
      ([label, value, because]) => `  ${label.padEnd(labels)}${value.padStart(width)}  ${style.dim(because)}`,
    ),
  ]
}

function boundFigure(bound: HelpfulBound, format: (value: number) => string): string {
  return bound.bounded && bound.useful !== false ? format(bound.value) : '-'
}

function boundReason(bound: HelpfulBound): string {
  const flags = withFlagNames(bound.because)
  const because = bound.default === true ? `default of ${flags}${defaultNote(bound)}` : flags
  if (bound.bounded && bound.useful !== false) return because
  if (bound.add !== undefined) return `no limit; add ${bound.add.join(' or ')}`
  return bound.bounded ? `far above any real run: ${because}` : `no limit: ${because}`
}

/** What is to be known of a default: that of dollars can be taken away, and one of turns stands in its place where it cannot be kept. */
function defaultNote(bound: Bound): string {
  const runUsd: FlagLimit = 'maxRunUsd'
  if (bound.because.startsWith(`${runUsd},`)) return `; ${flagOf(runUsd)} none removes it`
  const isInPlace = bound.bounded && bound.because === 'maxTurns' && bound.value === turnsWithoutPrice
  return isInPlace ? ' for a model without a price' : ''
}

const optionNames = {
  maxTurns: flagOf('maxTurns'),
  maxBudgetUsd: flagOf('maxBudgetUsd'),
  maxRunUsd: flagOf('maxRunUsd'),
  maxTotalTokens: flagOf('maxTotalTokens'),
  maxTokens: flagOf('maxTotalTokens'),
  maxToolCalls: flagOf('maxToolCalls'),
  maxDurationMs: flagOf('maxDurationMs'),
  spentBeforeUsd: 'cost of the session so far',
  laps: 'iterations',
} as const

/** A reason as somebody reads it who types flags: the library has names of its own. */
function withFlagNames(because: string): string {
  return because.replaceAll(/\b\w+\b/g, (word) =>
    // True: a key of its own.
    Object.hasOwn(optionNames, word) ? optionNames[word as keyof typeof optionNames] : word,
  )
}
