import type { BudgetReport } from '@halting/agent/budgets'
import { minuteText } from '@halting/analysis/words'
import type { ContextUsage, SessionSnapshot } from '@halting/core/session'
import { counted, elapsed, money, oneLine } from '../io/figures.ts'
import { indentedLines, namedTextLines, tableLines } from '../io/table.ts'
import { contextKindLabels } from './context-labels.ts'
import { nextStopText } from './next-stop-text.ts'

/** The reports of `/limits`, `/cost` and `/context`, in lines of at most `width` columns. Printed by the frontends, without asking a model. */
export interface StatusReport {
  readonly heading: string
  readonly rows: readonly string[]
}

/** The limits in force, how much of each is used, and which one stops the run next. */
export function limitsReport(
  { limits: current, figures, nextStop, goal }: Pick<SessionSnapshot, 'limits' | 'figures' | 'nextStop' | 'goal'>,
  width: number,
): StatusReport {
  const { maxTurns, maxBudgetUsd, maxRunUsd, maxTotalTokens, maxDurationMs, maxToolCalls } = current
  const of = (used: string, limit: string | undefined): string =>
    `${used}${limit === undefined ? ', no limit' : ` of ${limit}`}`
  const reserved = figures.reservedUsd > 0 ? ` (+${money(figures.reservedUsd)} reserved)` : ''
  const rows: readonly (readonly [string, string])[] = [
    ['turns', of(counted(figures.turns), maxTurns === null ? undefined : counted(maxTurns))],
    ['usd', of(money(figures.sessionUsd) + reserved, maxBudgetUsd === null ? undefined : money(maxBudgetUsd))],
    ['run-usd', of(money(figures.settledUsd) + reserved, maxRunUsd === null ? undefined : money(maxRunUsd))],
    ['tokens', of(counted(figures.settledTokens), maxTotalTokens === null ? undefined : counted(maxTotalTokens))],
    ['time', of(elapsed(figures.usedMs), maxDurationMs === null ? undefined : elapsed(maxDurationMs))],
    ['calls', of(counted(figures.toolCalls), maxToolCalls === null ? undefined : counted(maxToolCalls))],
    ...(goal === null ? [] : [['tries', of(counted(goal.tries), counted(goal.maxTries))] as const]),
  ]
  return { heading: 'Limits', rows: [...namedTextLines(rows, width), ...indentedLines(nextStopText(nextStop), width)] }
}

/** A standing budget, and what all processes have used of it. */
export type StandingFigures = Pick<BudgetReport, 'name' | 'limitUsd' | 'settledUsd' | 'reservedUsd' | 'resetsAt'>

/** One row for each standing budget: what all processes have used, and when it resets. */
export function standingBudgetRows(budgets: readonly StandingFigures[], width: number): readonly string[] {
  return namedTextLines(
    budgets.map(({ name, settledUsd, reservedUsd, resetsAt }) => {
      const reserved = reservedUsd > 0 ? ` (+${money(reservedUsd)} reserved)` : ''
      return [oneLine(name, 60), `${money(settledUsd)} used${reserved}, resets ${minuteText(resetsAt)}`]
    }),
    width,
  )
}

/** The cost of the last run and of the session. */
export function costReport(
  { figures, model, limits }: Pick<SessionSnapshot, 'figures' | 'model' | 'limits'>,
  width: number,
): StatusReport {
  const reserved = figures.reservedUsd > 0 ? `, and ${money(figures.reservedUsd)} reserved` : ''
  const of = (limit: number | null): string => (limit === null ? '' : ` of ${money(limit)}`)
  const rows = namedTextLines(
    [
      ['this run', `${money(figures.settledUsd)}${of(limits.maxRunUsd)}${reserved}`],
      ['the session', `${money(figures.sessionUsd)}${of(limits.maxBudgetUsd)}`],
      ['tokens of this run', counted(figures.settledTokens)],
      ...(figures.webSearches === undefined
        ? []
        : [['web searches of this run', counted(figures.webSearches)] as const]),
      ['model', model],
    ],
    width,
  )
  return { heading: 'Cost', rows }
}

const contextLabels: Readonly<Record<string, string>> = contextKindLabels

/** What fills the context window, by category. */
export function contextReport({ totalTokens, maxTokens, categories }: ContextUsage, width: number): StatusReport {
  const share = (tokens: number): readonly string[] =>
    maxTokens === null || maxTokens === 0 ? [] : [`${((100 * tokens) / maxTokens).toFixed(1)} %`]
  const window = maxTokens === null ? '' : ` of ${counted(maxTokens)}`
  return {
    heading: oneLine(`Context: ${counted(totalTokens)} tokens${window}`, width),
    rows: tableLines(
      categories.map(({ name, tokens }) => [contextLabels[name] ?? name, counted(tokens), ...share(tokens)]),
      { columns: [{ rest: 'cut' }, { align: 'right' }, { align: 'right' }], width, keep: 2 },
    ),
  }
}

/** When the conversation is compacted automatically. */
export function compactionRemark({ compactsAt }: Pick<ContextUsage, 'compactsAt'>): string {
  return compactsAt === null
    ? 'Automatic compaction is off.'
    : `Compacts automatically at ${counted(compactsAt)} tokens.`
}
