import { maxGoalTriesAllowed } from '@halting/core/adapters'
import type { OtherLimits, Trajectory, WhatIf } from '@halting/analysis'
import { counted, elapsed, many, money, spentText } from '@halting/analysis/words'

/** Limits that are numbers. */
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

/** Names and units of a limit. */
export interface LimitWords {
  readonly label: string
  readonly flag: string
  /** Unit of the number field: seconds for time. */
  readonly unit: string
  /** Factor from the unit of the field to that of the limit. */
  readonly factor: number
  readonly format: (value: number) => string
}

export const limitWords: { readonly [name in LimitName]: LimitWords } = {
  maxTurns: { label: 'Turns', flag: '--max-turns', unit: 'turns', factor: 1, format: counted },
  maxToolCalls: { label: 'Tool calls', flag: '--max-tool-calls', unit: 'calls', factor: 1, format: counted },
  maxBudgetUsd: { label: 'Dollars', flag: '--max-budget-usd', unit: 'US dollars', factor: 1, format: money },
  maxRunUsd: { label: 'Dollars, run', flag: '--max-run-usd', unit: 'US dollars', factor: 1, format: money },
  maxTotalTokens: { label: 'Tokens', flag: '--max-tokens', unit: 'tokens', factor: 1, format: counted },
  maxDurationMs: { label: 'Time', flag: '--max-duration', unit: 'seconds', factor: 1_000, format: elapsed },
  maxGoalTries: { label: 'Goal tries', flag: '--until-tries', unit: 'tries', factor: 1, format: counted },
}

/** The limits to show for a run: goal tries only if it had goals; dollars of the run and tool calls only if they were limited. */
export function limitNamesOf({ limits, turns }: Trajectory): readonly LimitName[] {
  const hasGoals = limits.maxGoalTries !== undefined || turns.some(({ tries }) => tries !== undefined)
  const isShown: { readonly [name in LimitName]?: boolean } = {
    maxGoalTries: hasGoals,
    maxRunUsd: limits.maxRunUsd !== null,
    maxToolCalls: typeof limits.maxToolCalls === 'number',
  }
  return limitNames.filter((name) => isShown[name] !== false)
}

/** How much of each limit a run used, including what was carried over. */
export function usedOf({ turns, limits, carried }: Trajectory): { readonly [name in LimitName]: number } {
  let nanos = carried.nanos
  let tokens = carried.tokens
  let ms = 0
  let callCount = carried.toolCalls ?? 0
  for (const { payments, calls, endMs } of turns) {
    for (const payment of payments) {
      nanos += payment.nanos
      tokens += payment.tokens
    }
    ms = Math.max(ms, endMs)
    callCount += calls.length
  }
  const begun = turns.filter(({ countsAsTurn }) => countsAsTurn).length
  return {
    maxTurns: carried.turns + begun,
    maxToolCalls: callCount,
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

/** Whether values are small integers. */
export function isSmall(name: LimitName): boolean {
  return name === 'maxTurns' || name === 'maxToolCalls' || name === 'maxGoalTries'
}

/** The number of steps of a slider. */
const fineness = 200

/** The range of a slider. Its maximum is what the run used, where the limit has no effect. */
export function sliderOf(
  name: LimitName,
  used: number,
): { readonly min: number; readonly max: number; readonly step: number } {
  if (isSmall(name)) return { min: 1, max: Math.max(1, used), step: 1 }
  const smallest = isDollars(name) ? 0.0001 : 1
  const step = roundStep(Math.max(smallest, used / fineness), smallest)
  return { min: step, max: Math.max(step, Math.ceil(used / step - 1e-9) * step), step }
}

/** A round step that is not finer than the limit. */
function roundStep(wanted: number, least: number): number {
  const power = 10 ** Math.floor(Math.log10(wanted) + 1e-9)
  const step = ([1, 2, 5, 10].find((each) => each * power >= wanted - 1e-12) ?? 10) * power
  return Math.max(least, Number(step.toPrecision(3)))
}

/** Parses a number in the unit of the field; undefined for an invalid limit. */
export function limitFrom(name: LimitName, text: string): number | undefined {
  const value = Number(text) * limitWords[name].factor
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0) return undefined
  if (isDollars(name)) return value < minUsd ? undefined : value
  if (name === 'maxDurationMs') return value > maxMs ? undefined : Math.max(1, Math.round(value))
  if (name === 'maxGoalTries' && value > maxGoalTriesAllowed) return undefined
  return Number.isSafeInteger(value) ? value : undefined
}

/** Money is counted in integer nano-dollars. */
const minUsd = 1e-9

/** The maximum of a timer: about 24 days. */
const maxMs = 2_147_483_647

/** The value of the flag. */
function flagOf(name: LimitName, value: number): string {
  if (isDollars(name)) return plainNumber(value)
  if (name !== 'maxDurationMs') return String(value)
  return value % 1_000 === 0 ? `${value / 1_000}s` : `${value}ms`
}

/** Without an exponent, because flags do not accept one. */
function plainNumber(value: number): string {
  const text = String(value)
  if (!text.includes('e')) return text
  if (value >= 1) return String(BigInt(value))
  const decimals = Array.from({ length: maxDecimals }, (_, more) => value.toFixed(more + 1))
  return decimals.find((each) => Number(each) === value) ?? value.toFixed(maxDecimals)
}

/** Enough decimals for the smallest limit. */
const maxDecimals = 30

/** The equivalent command in a terminal; null when no limit is set. `shellArguments` identify the session, quoted for a shell. */
export function commandLine(shellArguments: string, limits: OtherLimits): string | null {
  const flags = limitNames.flatMap((name) => {
    const value = limits[name]
    return typeof value === 'number' ? [limitWords[name].flag, flagOf(name, value)] : []
  })
  const all = [...flags, ...(limits.noProgress === true ? ['--no-progress'] : [])]
  return all.length === 0 ? null : ['halting', 'what-if', ...all, shellArguments].join(' ')
}

/** What is lost, in words; `nothing` when nothing is. */
export function lostText({ changes, answer }: WhatIf['lost']): string {
  const calls = Object.entries(changes).map(([tool, count]) => `${many(count, 'call')} of ${tool}`)
  const all = [...calls, ...(answer ? ['the answer'] : [])]
  return all.length === 0 ? 'nothing' : all.join(', ')
}

/** What is kept, saved and lost; empty for a run that would not have stopped. */
export function keptSavedLost(answer: WhatIf): readonly (readonly [name: 'Kept' | 'Saved' | 'Lost', text: string])[] {
  if (answer.verdict !== 'stops') return []
  return [
    ['Kept', spentText(answer.kept)],
    ['Saved', spentText(answer.saved)],
    ['Lost', lostText(answer.lost)],
  ]
}

/** Use of a limit: `Used 14 of 20`. */
export function usedText(name: LimitName, used: number, had: number | null): string {
  const { format } = limitWords[name]
  return `Used ${format(used)}${had === null ? ', no limit' : ` of ${format(had)}`}`
}
