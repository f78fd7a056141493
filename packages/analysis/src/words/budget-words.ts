import type { WaitFigures } from '../account/account.ts'
import type { SharedBudgetEnd } from '@halting/core/adapters'
import { elapsed, many, money } from './figures.ts'

// Shared budgets in words, for the terminal, exports and the page.

/** A moment of ISO 8601 to the minute, in its own time zone: `2026-11-29 00:00`. */
export function minuteText(moment: string): string {
  return moment.slice(0, 16).replace('T', ' ')
}

/** `$19.80 of $20.00, resets at 2026-11-29 00:00`. */
export function sharedBudgetText({ usedUsd, limitUsd, resetsAt }: SharedBudgetEnd): string {
  const used = usedUsd === null || limitUsd === null ? 'used up' : `${money(usedUsd)} of ${money(limitUsd)}`
  return `${used}${resetsAt === null ? '' : `, resets at ${minuteText(resetsAt)}`}`
}

/**
 * `5 requests waited 12 s for money that other requests had reserved ($9.10 at most).` With a standing budget, the others may be in other processes:
 * `1 request waited 12 s for $9.10 that others had reserved of $20 a day.`
 */
export function waitText({
  requests,
  ms,
  refused,
  mostReservedUsd,
  budget,
}: WaitFigures & {
  /** Name of the standing budget; absent for a limit of the run. */
  readonly budget?: string
}): string {
  const end = refused === 0 ? '.' : `; ${many(refused, 'request')} still did not fit.`
  const waited = `${many(requests, 'request')} waited ${elapsed(ms)}`
  if (budget !== undefined)
    return `${waited} for ${requests === 1 ? '' : 'at most '}${money(mostReservedUsd)} that others had reserved of ${budget}${end}`
  const peak = mostReservedUsd > 0 ? ` (${money(mostReservedUsd)} at most)` : ''
  return `${waited} for ${mostReservedUsd > 0 ? 'money' : 'tokens'} that other requests had reserved${peak}${end}`
}
