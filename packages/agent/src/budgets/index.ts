// `@halting/agent/budgets`: standing budgets, such as so many dollars a day, which all processes of a person share.
export type { BudgetRule } from './budget-rule.ts'
export {
  countingRules,
  openStandingBudgets,
  type CountedModels,
  type LedgerOwner,
  type OpenStandingBudgets,
} from './open.ts'
export {
  correctBudget,
  ledgerTrouble,
  reportBudgets,
  type BudgetCorrection,
  type BudgetReport,
  type CorrectableReport,
  type LedgerReport,
} from './status.ts'
