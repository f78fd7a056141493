import type { ContextKind, ContextPart, ContextUsage } from '@halting/core/adapters'
import { wrapToColumns } from '../io/columns.ts'
import { counted, moneyAtMost, oneLine } from '../io/figures.ts'
import type { Style } from '../io/style.ts'
import { tableLines } from '../io/table.ts'
import { contextKindLabels } from '../frontends/context-labels.ts'

/** The content of the context window, one line per kind and name, and what happens when it is full. */
export function usageText(usage: ContextUsage, width: number, style: Style): string {
  const { model, figures, isCounted } = usage
  const { usedTokens, windowTokens } = figures
  const how = isCounted ? 'as last counted by the service' : 'estimated'
  const room = Number.isFinite(windowTokens)
    ? ` of ${counted(windowTokens)} tokens (${percent(usedTokens / windowTokens)})`
    : ' tokens'
  const head = `The next request to ${oneLine(model, 100)} uses about ${counted(usedTokens)}${room}, ${how}.`
  const rows = usageRows(usage)
  const table = tableLines(
    rows.map(({ label, tokens, isWithin }) =>
      isWithin
        ? [label, counted(tokens)].map((text) => ({ text, style: style.dim }))
        : [label, counted(tokens), ...(Number.isFinite(windowTokens) ? [percent(tokens / windowTokens)] : [])],
    ),
    {
      columns: [
        { rest: 'cut' },
        { align: 'right', min: 10 },
        ...(Number.isFinite(windowTokens) ? [{ align: 'right', min: 7 } as const] : []),
      ],
      width,
      keep: 2,
    },
  )
  const notes = usageNotes(usage).map((note) => wrapToColumns(note, width))
  return [wrapToColumns(head, width), '', ...table, '', ...notes, ''].join('\n')
}

interface Row {
  readonly label: string
  readonly tokens: number
  /** Whether the row is a part of the row above. */
  readonly isWithin: boolean
}

/** One row per kind; kinds with named parts also have a row per part. */
function usageRows({ parts, figures }: ContextUsage): readonly Row[] {
  const rows: Row[] = []
  // This cast is safe: `labels` has no other keys.
  for (const kind of Object.keys(contextKindLabels) as ContextKind[]) {
    const own = parts.filter((part) => part.kind === kind)
    if (own.length === 0) continue
    rows.push({ label: contextKindLabels[kind], tokens: tokensOf(own), isWithin: false })
    for (const { name, tokens } of own)
      if (name !== null) rows.push({ label: `  ${oneLine(name, 60)}`, tokens, isWithin: true })
  }
  if (Number.isFinite(figures.windowTokens)) rows.push({ label: 'free', tokens: figures.leftTokens, isWithin: false })
  return rows
}

function tokensOf(parts: readonly ContextPart[]): number {
  return parts.reduce((sum, { tokens }) => sum + tokens, 0)
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

function usageNotes({ model, inputUsd, autoCompact, figures, compactionFreesTokens }: ContextUsage): readonly string[] {
  const { blocking } = figures.thresholds
  const cost =
    inputUsd === null
      ? `${oneLine(model, 100)} has no known price. halting models lists models with prices.`
      : `Reading it costs ${moneyAtMost(inputUsd.uncached)} the first time, and ${moneyAtMost(inputUsd.cached)} while the service has it cached.`
  const full =
    autoCompact === null
      ? `Automatic compaction is off${Number.isFinite(blocking) ? `: a run ends at ${counted(blocking)} tokens` : ''}.`
      : `Compacts automatically at ${counted(autoCompact.atTokens)} tokens, and frees at least ${counted(autoCompact.freesTokens)}.`
  const now =
    compactionFreesTokens > 0 ? [`Compacting now would free about ${counted(compactionFreesTokens)} tokens.`] : []
  return [cost, full, ...now]
}
