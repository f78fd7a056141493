// `@halting/agent/budgets`: standing budgets, such as a limit per day, that all processes of a user share.
export type { BudgetRule } from './budget-rule.ts'
export {
  applicableBudgetRules,
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
