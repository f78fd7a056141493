import type { Settings } from '@halting/policy/settings'
import type { Finding, Patient } from './finding.ts'

/** Whether the ledger of standing budgets can be used, where the settings have some. */
export async function budgetFindings(
  { cwd, env }: Pick<Patient, 'cwd' | 'env'>,
  { budgets }: Settings,
): Promise<readonly Finding[]> {
  if (budgets === undefined) return []
  const { ledgerTrouble } = await import('@halting/agent/budgets')
  const { path, trouble } = ledgerTrouble({ cwd, env })
  const count = budgets.length === 1 ? '1 standing budget' : `${budgets.length} standing budgets`
  if (trouble === undefined) return [{ what: 'budgets', state: 'good', says: `${count}, counted in ${path}` }]
  return [
    {
      what: 'budgets',
      state: 'broken',
      says: trouble,
      todo: '--ignore-standing-budgets continues without them.',
    },
  ]
}
