import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  StandingBudgets,
  StandingRefused,
  StandingRequest,
  StandingReservation,
  StandingWait,
} from '@halting/core'
import { onTestFinished } from 'vitest'
import type { BudgetTerms } from '@halting/core/adapters'
import { budgetRule } from '../../src/budgets/budget-rule.ts'
import { LedgerFile, type LedgerSystem } from '../../src/budgets/ledger-file.ts'
import { StandingLedger, type StandingLedgerOptions } from '../../src/budgets/standing-ledger.ts'

/** A folder that is removed after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'halting-budgets-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export const request = (usd: number, leastUsd = usd, model = 'claude-opus-4'): StandingRequest => ({
  model,
  usd,
  leastUsd,
  mayWait: true,
})

export interface Opened {
  readonly file: LedgerFile
  readonly standing: StandingLedger
}

/** Standing budgets over a file in a folder; a second instance over the same folder acts like another process. */
export async function opened(
  folder: string,
  budgets: readonly BudgetTerms[],
  options: Partial<StandingLedgerOptions> & { readonly system?: Partial<LedgerSystem> } = {},
): Promise<Opened> {
  const file = new LedgerFile(join(folder, 'budgets'), options.system)
  const rules = budgets.map((budget) => budgetRule(budget, budget.folder))
  const standing = new StandingLedger({ file, rules, session: 's', repository: '/r', ...options })
  await standing.open()
  return { file, standing }
}

/** Reserves the amount, and records what was reported while it waited. */
export function take(
  standing: StandingBudgets,
  asked: StandingRequest,
  { signal = new AbortController().signal, waits = [] as StandingWait[] } = {},
): StandingReservation | StandingRefused | Promise<StandingReservation | StandingRefused> {
  return standing.take(asked, { signal, onWait: (wait) => waits.push(wait) })
}

/** @throws Error if it is refused or has to wait. */
export function taken(answer: StandingReservation | StandingRefused | Promise<unknown>): StandingReservation {
  if ('kind' in answer && answer.kind === 'taken') return answer
  throw new Error(`not taken: ${JSON.stringify(answer)}`)
}
