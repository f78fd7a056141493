import { mostGoalTries } from '@halting/core/adapters'
import type { OtherLimits, Trajectory, WhatIf } from '@halting/analysis'
import { counted, elapsed, many, money, spentText } from '@halting/analysis/words'

/** Limits that are a number. */
export const limitNames = [
  'maxTurns',
  'maxToolCalls',
  'maxBudgetUsd',
  'maxRunUsd',
  'maxTotalTokens',
  'maxDurationMs',
  'maxGoalTries',
] as const
export type LimitName = (typeof limitNames)[number]

/** How a limit is spoken of, and asked for. */
export interface LimitWords {
  readonly label: string
  readonly flag: string
  /** What the number field counts: seconds for time. */
  readonly unit: string
  /** How many of a field make one of the limit. */
  readonly factor: number
  readonly inWords: (value: number) => string
}

export const limitWords: { readonly [name in LimitName]: LimitWords } = {
  maxTurns: { label: 'Turns', flag: '--max-turns', unit: 'turns', factor: 1, inWords: counted },
  maxToolCalls: { label: 'Tool calls', flag: '--max-tool-calls', unit: 'calls', factor: 1, inWords: counted },
  maxBudgetUsd: { label: 'Dollars', flag: '--max-budget-usd', unit: 'US dollars', factor: 1, inWords: money },
  maxRunUsd: { label: 'Dollars, run', flag: '--max-run-usd', unit: 'US dollars', factor: 1, inWords: money },
  maxTotalTokens: { label: 'Tokens', flag: '--max-tokens', unit: 'tokens', factor: 1, inWords: counted },
  maxDurationMs: { label: 'Time', flag: '--max-duration', unit: 'seconds', factor: 1_000, inWords: elapsed },
  maxGoalTries: { label: 'Goal tries', flag: '--until-tries', unit: 'tries', factor: 1, inWords: counted },
}

/** The limits that a run has: tries only where it had goals, and dollars of the run alone, or tool calls, where they were limited. */
export function limitNamesOf({ limits, turns }: Trajectory): readonly LimitName[] {
  const hasGoals = limits.maxGoalTries !== undefined || turns.some(({ tries }) => tries !== undefined)
  const isShown: { readonly [name in LimitName]?: boolean } = {
    maxGoalTries: hasGoals,
    maxRunUsd: limits.maxRunUsd !== null,
    maxToolCalls: typeof limits.maxToolCalls === 'number',
  }
  return limitNames.filter((name) => isShown[name] !== false)
}

/** What a run used of each limit, counted as the limit does: what was carried over is in it. */
export function usedOf({ turns, limits, carried }: Trajectory): { readonly [name in LimitName]: number } {
  let nanos = carried.nanos
  let tokens = carried.tokens
  let ms = 0
  let made = carried.toolCalls ?? 0
  for (const { payments, calls, endMs } of turns) {
    for (const payment of payments) {
      nanos += payment.nanos
      tokens += payment.tokens
    }
    ms = Math.max(ms, endMs)
    made += calls.length
  }
  const begun = turns.filter(({ countsAsTurn }) => countsAsTurn).length
  return {
    maxTurns: carried.turns + begun,
    maxToolCalls: made,
    maxBudgetUsd: (nanos + Math.round(limits.spentBeforeUsd * 1e9)) / 1e9,
    maxRunUsd: nanos / 1e9,
    maxTotalTokens: tokens,
    maxDurationMs: carried.ms + ms,
    maxGoalTries: Math.max(0, ...turns.map(({ tries = 0 }) => tries)),
  }
}

export function isDollars(name: LimitName): boolean {
  return name === 'maxBudgetUsd' || name === 'maxRunUsd'
}

/** Counted one by one. */
export function isSmall(name: LimitName): boolean {
  return name === 'maxTurns' || name === 'maxToolCalls' || name === 'maxGoalTries'
}

/** Steps of a slider: fine enough for a hand. */
const fineness = 200

/** From the first to the last place of a slider. The last is all that was used: nothing is tighter there. */
export function sliderOf(
  name: LimitName,
  used: number,
): { readonly min: number; readonly max: number; readonly step: number } {
  if (isSmall(name)) return { min: 1, max: Math.max(1, used), step: 1 }
  const least = isDollars(name) ? 0.0001 : 1
  const step = roundStep(Math.max(least, used / fineness), least)
  return { min: step, max: Math.max(step, Math.ceil(used / step - 1e-9) * step), step }
}

/** A step that people count in, and no finer than the limit is. */
function roundStep(wanted: number, least: number): number {
  const power = 10 ** Math.floor(Math.log10(wanted) + 1e-9)
  const step = ([1, 2, 5, 10].find((each) => each * power >= wanted - 1e-12) ?? 10) * power
  return Math.max(least, Number(step.toPrecision(3)))
}

/** A number as a person wrote it, in the unit of the field; undefined for what is no limit of the program. */
export function limitFrom(name: LimitName, written: string): number | undefined {
  const value = Number(written) * limitWords[name].factor
  if (written.trim() === '' || !Number.isFinite(value) || value <= 0) return undefined
  if (isDollars(name)) return value < leastUsd ? undefined : value
  if (name === 'maxDurationMs') return value > longestMs ? undefined : Math.max(1, Math.round(value))
  if (name === 'maxGoalTries' && value > mostGoalTries) return undefined
  return Number.isSafeInteger(value) ? value : undefined
}

/** Money is counted in whole nano-dollars. */
const leastUsd = 1e-9

/** As long as a timer takes: about 24 days. */
const longestMs = 2_147_483_647

/** As the program takes it. */
function flagOf(name: LimitName, value: number): string {
  if (isDollars(name)) return plainNumber(value)
  if (name !== 'maxDurationMs') return String(value)
  return value % 1_000 === 0 ? `${value / 1_000}s` : `${value}ms`
}

/** Without an exponent, which no flag takes. */
function plainNumber(value: number): string {
  const text = String(value)
  if (!text.includes('e')) return text
  if (value >= 1) return String(BigInt(value))
  const decimals = Array.from({ length: mostDecimals }, (_, more) => value.toFixed(more + 1))
  return decimals.find((each) => Number(each) === value) ?? value.toFixed(mostDecimals)
}

/** Of the least that is a limit, with all digits that a number may have. */
const mostDecimals = 30

/** Asks the same in a terminal; null where no limit was chosen. `shellArguments` name a session, as a shell takes them. */
export function commandLine(shellArguments: string, limits: OtherLimits): string | null {
  const flags = limitNames.flatMap((name) => {
    const value = limits[name]
    return typeof value === 'number' ? [limitWords[name].flag, flagOf(name, value)] : []
  })
  const all = [...flags, ...(limits.noProgress === true ? ['--no-progress'] : [])]
  return all.length === 0 ? null : ['halting', 'what-if', ...all, shellArguments].join(' ')
}

/** What is lost, in words; `nothing` where there is nothing. */
export function lostText({ changes, answer }: WhatIf['lost']): string {
  const calls = Object.entries(changes).map(([tool, count]) => `${many(count, 'call')} of ${tool}`)
  const all = [...calls, ...(answer ? ['the answer'] : [])]
  return all.length === 0 ? 'nothing' : all.join(', ')
}

/** Result kept, saved and lost; nothing for a run that would not have stopped. */
export function keptSavedLost(answer: WhatIf): readonly (readonly [name: 'Kept' | 'Saved' | 'Lost', text: string])[] {
  if (answer.verdict !== 'stops') return []
  return [
    ['Kept', spentText(answer.kept)],
    ['Saved', spentText(answer.saved)],
    ['Lost', lostText(answer.lost)],
  ]
}

/** What a run used of a limit: `Used 14 of 20`. */
export function usedText(name: LimitName, used: number, had: number | null): string {
  const { inWords } = limitWords[name]
  return `Used ${inWords(used)}${had === null ? ', no limit' : ` of ${inWords(had)}`}`
}
