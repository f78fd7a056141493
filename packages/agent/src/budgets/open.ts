import { ConfigurationError, type Prices, type StandingBudgets } from '@halting/core'
import { countsModel, type BudgetTerms } from '@halting/core/adapters'
import { configFolder, homeFolder, realPath } from '@halting/journal/files'
import { isInside } from '@halting/policy/files'
import { findRepository } from '@halting/policy/git'
import { join, resolve } from 'node:path'
import { budgetRule, type BudgetRule } from './budget-rule.ts'
import { LedgerFile, LedgerProblem, ledgerFolder } from './ledger-file.ts'
import { StandingLedger } from './standing-ledger.ts'

/** The user who owns the ledger, and the folder of the session. */
export interface LedgerOwner {
  /** The working folder. */
  readonly cwd: string
  /** The environment, for variables that move the ledger. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Budgets of the settings, and the models that the session uses in its folder. */
export interface CountedModels {
  /** The owner of the ledger. */
  readonly owner: LedgerOwner
  /** The budgets of the settings. */
  readonly budgets: readonly BudgetTerms[]
  /** Ids of the models that the session may use. */
  readonly models: readonly string[]
  /** Prices of the models. */
  readonly prices: Prices
  /** Whether the user chose to continue without the budgets. */
  readonly ignored: boolean
  /** Name of the option that ignores the budgets, such as `--ignore-standing-budgets`. */
  readonly nameOfIgnoring: string
}

/** Options of `openStandingBudgets`. */
export interface OpenStandingBudgets extends CountedModels {
  /** Id of the session. */
  readonly sessionId: string
  /** Called when spending cannot be counted and the user ignores the budgets. */
  readonly onUncounted: (why: string) => void
}

/** The ledger file of a user. */
export function ledgerFileOf({ cwd, env }: LedgerOwner): LedgerFile {
  return new LedgerFile(ledgerFolder(configFolder('halting', { cwd, home: homeFolder(env), env })))
}

/** All budgets of the settings, with the paths of their folders. */
export function budgetRules(budgets: readonly BudgetTerms[], { env }: LedgerOwner): readonly FoundRule[] {
  return budgets.map((budget) => {
    if (budget.folder === undefined) return { rule: budgetRule(budget, undefined), folder: undefined }
    const absolute = budget.folder.startsWith('~') ? join(homeFolder(env), budget.folder.slice(1)) : budget.folder
    // Uses the path as written in the settings: a new repository, a moved repository or a link must not reset a
    // budget.
    const folder = resolve(absolute)
    return { rule: budgetRule(budget, folder), folder }
  })
}

interface FoundRule {
  readonly rule: BudgetRule
  readonly folder: string | undefined
}

/**
 * Returns the repository of a folder, identified by the path that all of its worktrees share; the folder itself if it
 * is not in a repository.
 */
export function placeOf(folder: string): string {
  const real = realPath(folder)
  const found = findRepository(real)
  return found?.kind === 'repository' ? realPath(found.commonFolder) : real
}

/**
 * Whether the budget of a folder applies to another folder: to everything below it, including other repositories, and
 * to any worktree of its own repository and of those below it.
 */
function countsIn(folder: string | undefined, cwd: string): boolean {
  if (folder === undefined) return true
  const [place, own] = [realPath(folder), placeOf(cwd)]
  return isInside(realPath(cwd), place) || isInside(own, place) || isInside(own, placeOf(folder))
}

/**
 * Opens the standing budgets that apply to a folder. If there are none, returns undefined and neither creates nor
 * reads a file.
 * @throws ConfigurationError if the ledger cannot be used, or if a counted model has no price.
 */
export async function openStandingBudgets(options: OpenStandingBudgets): Promise<StandingBudgets | undefined> {
  const { owner, sessionId, prices, ignored, nameOfIgnoring, onUncounted } = options
  const rules = applicableBudgetRules(options)
  if (rules.length === 0) return undefined
  const isPriced = pricedBy(prices)
  const file = ledgerFileOf(owner)
  const repository = placeOf(owner.cwd)
  const ledger = new StandingLedger({ file, rules, session: sessionId, repository, ignored, isPriced, onUncounted })
  try {
    await ledger.open()
    return ledger
  } catch (thrown) {
    if (!(thrown instanceof LedgerProblem)) throw thrown
    throw new ConfigurationError(
      `${thrown.message} No request is sent until then, because your settings have budgets. ${nameOfIgnoring} continues without them.`,
    )
  }
}

/**
 * Returns the standing budgets that apply to a folder, without opening their ledger.
 * @throws ConfigurationError if a counted model has no price.
 */
export function applicableBudgetRules(options: CountedModels): readonly BudgetRule[] {
  const { owner, budgets, ignored } = options
  const found = budgetRules(budgets, owner).filter(({ folder }) => countsIn(folder, owner.cwd))
  const rules = [...new Map(found.map(({ rule }) => [`${rule.scope} ${rule.limitNanos}`, rule])).values()]
  if (!ignored) checkPrices(rules, options)
  return rules
}

function pricedBy(prices: Prices): (model: string) => boolean {
  return (model) => prices.worstCase(model, { inputTokens: 1, outputTokens: 1 }) !== undefined
}

function checkPrices(rules: readonly BudgetRule[], { models, prices, nameOfIgnoring }: CountedModels): void {
  const isPriced = pricedBy(prices)
  for (const model of models) {
    const rule = rules.find((each) => countsModel(each, model))
    if (rule === undefined || isPriced(model)) continue
    throw new ConfigurationError(
      `The budget ${rule.name} counts ${model}, which has no price: its requests cannot be bounded. Set its price with ` +
        `modelPrices in your settings, give the budget a model pattern that excludes it, or use ${nameOfIgnoring}.`,
    )
  }
}
