import { endingLimits, type EndingReason } from '../endings/ending.ts'
import { endings } from '../endings/table.ts'

/** The limit that would end the run first if it continued at its current rate. */
export interface NextStop {
  /** The ending that reports the limit. */
  readonly reason: EndingReason
  /** Remaining turns until then. */
  readonly turns: number
  /** Whether the number is estimated from the usage of the last turns, rather than counted. */
  readonly isEstimate: boolean
}

/** What the limits leave, and the usage of a turn; null for no limit, and for an unknown value. */
export interface LeftOfRun {
  /** Turns. */
  readonly turns: number | null
  /** US dollars. */
  readonly usd: number | null
  /** Tokens. */
  readonly tokens: number | null
  /** Active milliseconds. */
  readonly ms: number | null
  /** How often the latest turns may still repeat, if they have repeated; otherwise null. */
  readonly repeats: number | null
  /** Means of the last turns; null before the first has ended. */
  readonly perTurn: {
    /** US dollars. */
    readonly usd: number
    /** Tokens. */
    readonly tokens: number
    /** Active milliseconds. */
    readonly ms: number
  } | null
}

/** The limit that is reached first. In a tie, counted limits come before estimated ones, then the order of the table of endings applies. */
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

// The keys of a record over the endings are the endings.
const stops = (Object.keys(endings) as readonly EndingReason[]).flatMap((reason) => {
  const { limit } = endings[reason]
  const unit = limit === null ? 'tries' : endingLimits[limit].unit
  // Tries of a goal and tool calls are not used up at a rate per turn.
  return unit === 'tries' || unit === 'calls' ? [] : [{ reason, unit }]
})
