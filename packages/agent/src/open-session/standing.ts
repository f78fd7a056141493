import type { QueryOptions } from '@halting/core'
import type { Models } from './models.ts'
import type { SessionNotice, SessionPorts } from './ports.ts'
import type { RunSettings } from './run-settings.ts'

interface StandingPorts extends Pick<SessionPorts, 'cwd' | 'nameOf' | 'wordNotice' | 'note'> {
  readonly sessionId: string
}

/**
 * The standing budgets that the settings have for the folder of a session. Without any nothing is loaded, and no ledger is made or read.
 * @throws ConfigurationError for a ledger that cannot be used, and for a model without a price that a budget counts.
 */
export async function standingOptions(
  { settings, choices, env }: Pick<RunSettings, 'settings' | 'choices' | 'env'>,
  models: Pick<Models, 'model' | 'fallbackModel' | 'compactModel' | 'smallModel' | 'prices'>,
  { cwd, nameOf, wordNotice, note, sessionId }: StandingPorts,
): Promise<Pick<QueryOptions, 'standing'>> {
  const { budgets } = settings
  if (budgets === undefined) return {}
  const { openStandingBudgets } = await import('../budgets/index.ts')
  const { model, fallbackModel, compactModel, smallModel, prices } = models
  const asked = [model, fallbackModel, compactModel, smallModel].filter((each) => each !== undefined)
  const tell = (notice: SessionNotice): void => note(wordNotice(notice))
  const ignored = choices.ignoreStandingBudgets === true
  let uncounted: string | undefined
  let isOpen = false
  const standing = await openStandingBudgets({
    owner: { cwd, env },
    budgets,
    sessionId,
    models: asked.map(({ id }) => id),
    prices,
    ignored,
    nameOfIgnoring: nameOf('ignoreStandingBudgets'),
    onUncounted(why) {
      uncounted = why
      if (isOpen) tell({ kind: 'budgets_ignored', budgets: [], uncounted: why })
    },
  })
  isOpen = true
  if (standing === undefined) return {}
  if (ignored) tell({ kind: 'budgets_ignored', budgets: standing.names, uncounted })
  return { standing }
}
