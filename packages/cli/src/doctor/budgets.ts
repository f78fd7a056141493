import { ConfigurationError } from '@halting/core'
import { describeModels, standingNames } from '@halting/agent/session-settings'
import type { BudgetReport } from '@halting/agent/budgets'
import { minuteText } from '@halting/analysis/words'
import { portsOf, type RunSettings } from '../flags/session-ports.ts'
import { many, money, oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import type { Finding } from './finding.ts'

/** Whether the ledger of standing budgets can be used, and what is left of those that count here, where the settings have some. */
export async function budgetFindings(program: Program, run: RunSettings): Promise<readonly Finding[]> {
  const { budgets } = run.settings
  if (budgets === undefined) return []
  const owner = { cwd: program.cwd, env: program.env }
  const { ledgerTrouble, reportBudgets } = await import('@halting/agent/budgets')
  const { path, trouble } = ledgerTrouble(owner)
  if (trouble !== undefined) return [broken(trouble, 'Use --ignore-standing-budgets to run without them.')]
  try {
    const ports = portsOf(program, run.choices)
    const names = await standingNames(run, await describeModels(run, ports), ports)
    const { budgets: reports } = await reportBudgets(owner, budgets)
    const says = `${many(budgets.length, 'standing budget')}, counted in ${path}`
    return [{ what: 'budgets', state: 'good', says }, ...reports.filter(({ name }) => names.includes(name)).map(leftOf)]
  } catch (thrown) {
    // A model without a price. What else is wrong with the model is said beside it.
    return thrown instanceof ConfigurationError ? [broken(thrown.message)] : []
  }
}

function broken(says: string, todo?: string): Finding {
  return { what: 'budgets', state: 'broken', says, ...(todo !== undefined && { todo }) }
}

/** Where nothing is left no request is made; one with a model pattern may count none of this run's. */
function leftOf({ name, model, leftUsd, reservedUsd, resetsAt }: BudgetReport): Finding {
  const isUsedUp = leftUsd + reservedUsd <= 0
  const says = `${money(leftUsd)} left of ${oneLine(name, 100)}, resets ${minuteText(resetsAt)}`
  if (!isUsedUp) return { what: 'budgets', state: 'good', says }
  return {
    what: 'budgets',
    state: model === undefined ? 'broken' : 'note',
    says,
    todo: 'Wait until then, raise it in your settings, or use --ignore-standing-budgets.',
  }
}
