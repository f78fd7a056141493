import type { Bound, Certificate, RunOptions } from '@halting/core'
import { turnsWithoutPrice } from '@halting/agent/session-settings'
import type { Forecast } from '@halting/core/adapters'
import { flagOf, type FlagLimit } from '../headless/limit-advice.ts'
import { counted, elapsed, money } from '../io/figures.ts'
import type { Style } from '../io/style.ts'
import { tableLines } from '../io/table.ts'

type BoundName = Exclude<keyof Certificate, 'halts' | 'notes' | 'standingBudgets'>

/** A bound of the certificate, and whether its figure is useful to a user. */
export type HelpfulBound = Bound & {
  /** False if no limit sets the figure and it exceeds a likely run thousands of times. Absent if there is no figure. */
  readonly useful?: boolean
  /** Flags that would make the bound useful; any one of them is enough. */
  readonly add?: readonly string[]
  /** True if the limit is a default of the program. */
  readonly default?: true
}

/** The bounds of the certificate, each with its usefulness (spec R-LIM-66). */
export type HelpfulBounds = {
  readonly [Name in BoundName]: Name extends 'checks' ? HelpfulBound | undefined : HelpfulBound
}

/** A bound that exceeds the likely figure by more than this factor does not help to estimate a run. */
const maxLikelyFactor = 1_000

/** What is known about the run in addition to its certificate. */
interface CheckedRun {
  readonly options: Pick<RunOptions, 'maxTotalTokens' | 'maxBudgetUsd' | 'maxRunUsd' | 'tools' | 'maxSubagents'>
  readonly forecast: Forecast
  /** Limits that have the default value of the program. */
  readonly defaults: readonly FlagLimit[]
}

/** Adds to each bound whether its figure is useful, and otherwise which flags would give a useful one. */
export function helpfulBounds(bounds: Certificate, run: CheckedRun): HelpfulBounds {
  const of = (name: BoundName, bound: Bound): HelpfulBound => {
    if (!bound.bounded) return { ...bound, ...flagsToAdd(name, bounds, run) }
    const likely = likelyFigure(name, bounds, run)
    const useful = isDirectLimit(name, bound.value, run) || bound.value <= maxLikelyFactor * likely
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

/** Whether the bound is a limit itself, not a product of several limits. */
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

/** The figure of a long run, with one request per turn. If no run can start: the needs of the first request, and the turn limit. */
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

/** Suggests a budget only if all models have a price and there is no budget yet. */
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

/** One line per bound: the figure and its reason, or why there is no useful figure (spec R-LIM-65, R-LIM-66). */
export function boundsText(bounds: HelpfulBounds, halts: boolean, style: Style): readonly string[] {
  const verdict = halts ? style.green('halts') : style.red('may never stop')
  const cells = rows.flatMap(([name, label, format]) => {
    const bound = bounds[name]
    return bound === undefined
      ? []
      : [[label, boundFigure(bound, format), { text: boundReason(bound), style: style.dim }]]
  })
  return [
    `Every run with these flags ${verdict}. It cannot exceed:`,
    '',
    ...tableLines(cells, { columns: [{}, { align: 'right' }, {}] }),
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

/** A note about a default: how to remove the dollar limit, or that the turn limit replaces it for a model without a price. */
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

/** Replaces the library's names of limits in a reason with the names of their flags. */
function withFlagNames(because: string): string {
  return because.replaceAll(/\b\w+\b/g, (word) =>
    // This cast is safe: `hasOwn` has just checked that the word is a key.
    Object.hasOwn(optionNames, word) ? optionNames[word as keyof typeof optionNames] : word,
  )
}
