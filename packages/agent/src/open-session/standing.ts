import type { QueryOptions } from '@halting/core'
import type { CountedModels } from '../budgets/index.ts'
import type { Models } from './models.ts'
import type { SessionNotice, SessionPorts } from './ports.ts'
import type { RunSettings } from './run-settings.ts'

type StandingRun = Pick<RunSettings, 'settings' | 'choices' | 'env'>
type AskedModels = Pick<Models, 'model' | 'fallbackModel' | 'compactModel' | 'smallModel' | 'prices'>

interface StandingPorts extends Pick<SessionPorts, 'cwd' | 'nameOf' | 'wordNotice' | 'note'> {
  readonly sessionId: string
}

/**
 * Opens the standing budgets of the settings for the session's folder. If there are none, loads nothing, and neither
 * creates nor reads a ledger.
 * @throws ConfigurationError if the ledger cannot be used, or if a counted model has no price.
 */
export async function standingOptions(
  run: StandingRun,
  models: AskedModels,
  { wordNotice, note, sessionId, ...ports }: StandingPorts,
): Promise<Pick<QueryOptions, 'standing'>> {
  const counted = countedModels(run, models, ports)
  if (counted === undefined) return {}
  const { openStandingBudgets } = await import('../budgets/index.ts')
  const notify = (notice: SessionNotice): void => note(wordNotice(notice))
  const { ignored } = counted
  let uncounted: string | undefined
  let isOpen = false
  const standing = await openStandingBudgets({
    ...counted,
    sessionId,
    onUncounted(why) {
      uncounted = why
      if (isOpen) notify({ kind: 'budgets_ignored', budgets: [], uncounted: why })
    },
  })
  isOpen = true
  if (standing === undefined) return {}
  if (ignored) notify({ kind: 'budgets_ignored', budgets: standing.names, uncounted })
  return { standing }
}

/**
 * Returns names of the standing budgets that a session in this folder would have: empty if they are ignored. Does not
 * read their ledger.
 * @throws ConfigurationError if a counted model has no price.
 */
export async function standingNames(
  run: StandingRun,
  models: AskedModels,
  ports: Pick<SessionPorts, 'cwd' | 'nameOf'>,
): Promise<readonly string[]> {
  const counted = countedModels(run, models, ports)
  if (counted === undefined || counted.ignored) return []
  const { applicableBudgetRules } = await import('../budgets/index.ts')
  return applicableBudgetRules(counted).map(({ name }) => name)
}

function countedModels(
  { settings, choices, env }: StandingRun,
  { model, fallbackModel, compactModel, smallModel, prices }: AskedModels,
  { cwd, nameOf }: Pick<SessionPorts, 'cwd' | 'nameOf'>,
): CountedModels | undefined {
  const { budgets } = settings
  if (budgets === undefined) return undefined
  return {
    owner: { cwd, env },
    budgets,
    models: [model, fallbackModel, compactModel, smallModel].flatMap((each) => (each === undefined ? [] : [each.id])),
    prices,
    ignored: choices.ignoreStandingBudgets === true,
    nameOfIgnoring: nameOf('ignoreStandingBudgets'),
  }
}
