import { endingLimits, type EndingReason } from '../endings/ending.ts'
import { endings } from '../endings/table.ts'

/** What would end the run next if it went on as it does. */
export interface NextStop {
  /** An ending that reports a limit. */
  readonly reason: EndingReason
  /** Turns until then. */
  readonly turns: number
  /** By what the last turns used, and not by a count. */
  readonly isEstimate: boolean
}

/** What is left, and what a turn takes of it; null for no limit, and for what is not known yet. */
export interface LeftOfRun {
  /** Turns. */
  readonly turns: number | null
  /** US dollars. */
  readonly usd: number | null
  /** Tokens. */
  readonly tokens: number | null
  /** Active milliseconds. */
  readonly ms: number | null
  /** How often the newest turns may still come again, where they have come again; null where they have not. */
  readonly repeats: number | null
  /** Means of the last turns; null before the first is done. */
  readonly perTurn: {
    /** US dollars. */
    readonly usd: number
    /** Tokens. */
    readonly tokens: number
    /** Active milliseconds. */
    readonly ms: number
  } | null
}

/** The nearest of all that would stop it. Where two are as near: what is counted before what is estimated, then the order of the table. */
export function nextStop(left: LeftOfRun): NextStop | null {
  const all = stops.flatMap(({ reason, unit }): readonly NextStop[] => {
    const amount = left[unit]
    if (amount === null || amount === Infinity) return []
    if (unit === 'turns' || unit === 'repeats') return [{ reason, turns: Math.max(0, amount), isEstimate: false }]
    if (amount <= 0) return [{ reason, turns: 0, isEstimate: true }]
    const each = left.perTurn?.[unit] ?? 0
    return each > 0 ? [{ reason, turns: Math.floor(amount / each), isEstimate: true }] : []
  })
  return (
    all.toSorted((one, other) => one.turns - other.turns || Number(one.isEstimate) - Number(other.isEstimate))[0] ??
    null
  )
}

// The names of a record over the reasons are those of the reasons.
const stops = (Object.keys(endings) as readonly EndingReason[]).flatMap((reason) => {
  const { limit } = endings[reason]
  const unit = limit === null ? 'tries' : endingLimits[limit].unit
  // Tries of a goal and calls of tools are not used up turn by turn.
  return unit === 'tries' || unit === 'calls' ? [] : [{ reason, unit }]
})
