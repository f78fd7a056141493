import type { RunEvent } from './events.ts'

/** `Waiting for budget: $2.10 is reserved by 3 other requests.` Null for the end of a wait. */
export function budgetWaitText(event: Extract<RunEvent, { readonly type: 'budget_wait' }>): string | null {
  if (!event.isWaiting) return null
  const { reservedUsd, reservedTokens, holders, budget } = event
  const others = holders === 1 ? '1 other request' : `${holders} other requests`
  if (budget !== undefined)
    return `Waiting for budget: ${reservedDollars(reservedUsd)} of ${budget} is reserved by ${others}.`
  if (reservedUsd > 0) return `Waiting for budget: ${reservedDollars(reservedUsd)} is reserved by ${others}.`
  return `Waiting for tokens: ${reservedTokens} are reserved by ${others}.`
}

/** Rounded up, as an upper bound of what is reserved. */
function reservedDollars(usd: number): string {
  const decimals = usd < 0.01 ? 4 : 2
  const unit = 10 ** decimals
  return `$${(Math.ceil(usd * unit - 1e-6) / unit).toFixed(decimals)}`
}
