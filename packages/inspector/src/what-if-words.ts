import type { WhatIf } from '@halting/core/steps'
import { counted, elapsed, many, money } from './figures.ts'

// What other limits would have done, in words: the same in the terminal and on the page.

/** What would have become of a run in which these models have no price. */
export function verdictText(
  { verdict, reason, by, isAtTheLatest, toldAfterTurn, kept }: WhatIf,
  unpriced: readonly string[],
): string {
  switch (verdict) {
    case 'same':
      return `The same: ${reason} after ${many(kept.turns, 'turn')}.`
    case 'unknown':
      if (unpriced.length > 0) return `Not known: no price is known for ${unpriced.join(', ')}.`
      return `Not known: the record ends after ${many(kept.turns, 'turn')}, and it might have gone on.`
    case 'stops': {
      const told = toldAfterTurn === null ? '' : `, told after turn ${toldAfterTurn} and as if it had not listened`
      const place = `after ${many(kept.turns, 'turn')}${isAtTheLatest ? ' at the latest' : ''}`
      return `Would have stopped ${place}: ${reason}${by === null ? '' : ` (${figures(by)})`}${told}.`
    }
  }
}

function figures({ limit, used, max }: NonNullable<WhatIf['by']>): string {
  const shown = {
    maxBudgetUsd: money,
    maxDurationMs: elapsed,
    maxTurns: counted,
    maxTotalTokens: counted,
    noProgress: counted,
  }
  return `${shown[limit](used)} of ${shown[limit](max)}`
}

/** That runs are left out since they count elsewhere; '' for none. */
export function copiesLeftOut(copies: number): string {
  if (copies === 0) return ''
  return copies === 1
    ? '1 run is a copy, and left out: it counts in the session in which it was made.'
    : `${counted(copies)} runs are copies, and left out: they count in the sessions in which they were made.`
}

/** What was spent, or is saved. */
export function spentText({ turns, tokens, costUsd, activeMs }: WhatIf['saved']): string {
  return [
    many(turns, 'turn'),
    `${counted(tokens)} tokens`,
    ...(costUsd > 0 ? [money(costUsd)] : []),
    elapsed(activeMs),
  ].join(', ')
}
