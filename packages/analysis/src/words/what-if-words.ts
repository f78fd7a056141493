import type { WhatIf } from '../what-if/what-if.ts'
import type { PeriodSpent } from '../what-if/period-account.ts'
import { minuteText } from './budget-words.ts'
import { counted, elapsed, many, money, moneyAtMost } from './figures.ts'

// The effect of other limits in words, for the terminal and the page.

/** The effect on a run with these models without a price. */
export function verdictText(answer: WhatIf, unpriced: readonly string[]): string {
  const { verdict, reason, by, standing, isAtTheLatest, isCompletedIfMet, keepsAnswer, toldAfterTurn, kept } = answer
  const reminder =
    toldAfterTurn === null
      ? ''
      : `; the model is warned after turn ${toldAfterTurn}, and this assumes that it ignores the warning`
  switch (verdict) {
    case 'same':
      return `No change: ${reason} after ${many(kept.turns, 'turn')}${reminder}.`
    case 'unknown':
      return `Unknown: ${whyUnknown(answer, unpriced)}`
    case 'stops': {
      const place = isAtTheLatest ? `${inTurn(kept.turns)} at the latest` : placeOf(answer)
      return `Would have stopped ${place}: ${reason}${by === null ? '' : ` (${usedOfMax(by)})`}${
        isCompletedIfMet === true ? ', or completed if its goal held by then' : ''
      }${keepsAnswer === true ? ', with the answer before it was asked to verify it' : ''}${standing === undefined ? '' : standingText(standing)}${reminder}.`
    }
  }
}

/** The standing budget, when it stopped the run, and when it resets: to the minute, in the local time zone. */
function standingText({ budget, at, resetsAt, notMade }: NonNullable<WhatIf['standing']>): string {
  const not = notMade === 0 ? '' : `; ${many(notMade, 'request')} not made`
  return ` by the budget of ${budget} at ${minuteText(at)}, which resets at ${minuteText(resetsAt)}${not}`
}

function whyUnknown({ unknownFrom, kept, standing }: WhatIf, unpriced: readonly string[]): string {
  if (unknownFrom === null) return `the record ends after ${many(kept.turns, 'turn')}; the run might have continued.`
  const { turn, why } = unknownFrom
  switch (why) {
    case 'reserved':
      return `the run spent less than the limit, but requests reserve more than they cost. It may have stopped from turn ${turn} on.`
    case 'undated':
      return 'the record has no time.'
    case 'beside':
      if (standing !== undefined)
        return `in turn ${turn} the budget of ${standing.budget} may have refused a request of a subagent, a compaction, a tool or a hook; what the run would have done next is not recorded.`
      return `in turn ${turn} the limit may have refused a request of a subagent, a compaction, a tool or a hook; what the run would have done next is not recorded.`
    case 'unpriced':
      return `no price is known for ${unpriced.join(', ')}.`
    case 'agent':
      return `in turn ${turn} the limit would have stopped a subagent; what the run would have done next is not recorded.`
  }
}

/** A limit on time, or on waits for services, cuts a turn; the others stop between two turns. */
function placeOf({ by, kept: { turns } }: WhatIf): string {
  return by?.limit === 'maxDurationMs' || by?.limit === 'waitForLimitsMs'
    ? inTurn(turns)
    : `after ${many(turns, 'turn')}`
}

function inTurn(turn: number): string {
  return turn === 0 ? 'before its first turn' : `in turn ${counted(turn)}`
}

function usedOfMax({ limit, used, max }: NonNullable<WhatIf['by']>): string {
  const shown = {
    maxBudgetUsd: money,
    maxRunUsd: money,
    standing: money,
    maxToolCalls: counted,
    maxDurationMs: elapsed,
    maxTurns: counted,
    maxTotalTokens: counted,
    maxGoalTries: counted,
    waitForLimitsMs: elapsed,
    noProgress: counted,
  }
  return `${shown[limit](used)} of ${shown[limit](max)}`
}

/** What an answer about standing budgets does not include. */
export function standingNotes({
  undated,
}: {
  /** Runs without a recorded time. */
  readonly undated: number
}): readonly string[] {
  return [
    'Only these sessions count. Other sessions of the same days would have used the same budgets.',
    ...(undated === 0 ? [] : [`${many(undated, 'run')} without a recorded time: their cost counts in no day.`]),
  ]
}

/** The result of a standing budget in one period: `$20.00 of $31.40 spent, 2 runs ended, 14 requests not made`. */
export function periodText({ spentUsd, recordedUsd, ended, notMade, waited }: PeriodSpent): string {
  const spent =
    spentUsd < recordedUsd ? `${money(spentUsd)} of ${money(recordedUsd)} spent` : `${money(spentUsd)} spent`
  return [
    spent,
    ...(ended > 0 ? [`${many(ended, 'run')} ended`] : []),
    ...(notMade > 0 ? [`${many(notMade, 'request')} not made`] : []),
    ...(waited > 0 ? [`${many(waited, 'request')} waited`] : []),
  ].join(', ')
}

/** A note that copied runs are not counted; '' for none. */
export function copiesLeftOut(copies: number): string {
  if (copies === 0) return ''
  return copies === 1
    ? '1 run is a copy and is not counted here; it counts in its original session.'
    : `${counted(copies)} runs are copies and are not counted here; they count in their original sessions.`
}

/** What was spent, or is saved. */
export function spentText({ turns, tokens, costUsd, unknownUsd, activeMs }: WhatIf['saved']): string {
  return [
    many(turns, 'turn'),
    `${counted(tokens)} tokens`,
    ...(costUsd > 0 || unknownUsd > 0 ? [costText({ costUsd, unknownUsd })] : []),
    elapsed(activeMs),
  ].join(', ')
}

/** The reported cost, and the unreported cost that was charged at worst case: `$1.20 and up to $0.40 more`. */
export function costText({ costUsd, unknownUsd }: Pick<WhatIf['saved'], 'costUsd' | 'unknownUsd'>): string {
  return unknownUsd > 0 ? `${money(costUsd)} and up to ${moneyAtMost(unknownUsd)} more` : money(costUsd)
}
