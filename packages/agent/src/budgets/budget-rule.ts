import { matchesWildcard } from '@halting/policy'
import type { BudgetPer } from './calendar.ts'

/** A standing budget as settings have it. */
export interface BudgetSetting {
  readonly per: BudgetPer
  /** US dollars, above 0. */
  readonly usd: number
  /** Models that it counts, by their ids; `*` stands for any characters. All of them without it. */
  readonly model?: string | undefined
  /** It counts what is done in this folder and below it, and in all worktrees of its repository. Everywhere without it. */
  readonly folder?: string | undefined
}

/** A standing budget as it counts. */
export interface BudgetRule {
  readonly name: string
  readonly per: BudgetPer
  readonly limitNanos: number
  readonly model: string | undefined
  /** What is counted together, whatever the limit: a budget that is raised has spent what it had spent before. */
  readonly scope: string
}

/** A million dollars: more cannot be added up exactly for long. */
export const mostUsd = 1_000_000

/** In whole nano-dollars, at most a million dollars. */
export function nanosOf(usd: number): number {
  return Math.round(Math.min(Math.max(usd, 0), mostUsd) * 1e9)
}

/** @param path Of the folder, absolute. */
export function budgetRule({ per, usd, model, folder }: BudgetSetting, path: string | undefined): BudgetRule {
  const inFolder = folder === undefined ? '' : ` in ${folder}`
  const forModel = model === undefined ? '' : ` for ${model}`
  return {
    name: `$${dollars(usd)} a ${per}${forModel}${inFolder}`,
    per,
    limitNanos: nanosOf(usd),
    model,
    scope: `${per}${model === undefined ? '' : ` model=${model}`}${path === undefined ? '' : ` folder=${path}`}`,
  }
}

/** Whether a budget counts requests to a model. */
export function countsModel({ model: pattern }: Pick<BudgetRule, 'model'>, model: string): boolean {
  return pattern === undefined || matchesWildcard(pattern, model)
}

function dollars(usd: number): string {
  return Number.isInteger(usd) ? String(usd) : usd.toFixed(Math.max(2, decimalsOf(usd)))
}

function decimalsOf(usd: number): number {
  return Math.min(9, String(usd).split('.')[1]?.length ?? 0)
}
