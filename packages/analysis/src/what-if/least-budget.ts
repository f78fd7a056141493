import { askedIn, Budget, isAnswered, nextOwn } from './budget-stops.ts'
import type { PastPayment, Trajectory } from './trajectory.ts'

/**
 * The least budget in nano-dollars or in tokens that would not have stopped the run, nor cut a reply of it: what it spent before each request and what that
 * reserves, the most of these. Of a request that does not say what it may come to, what it came to.
 */
export function leastBudget(trajectory: Trajectory, currency: 'nanos' | 'tokens'): number {
  const amountOf = (of: Pick<PastPayment, 'nanos' | 'tokens'>): number => of[currency]
  // What is left of nothing is what is spent and reserved, below zero.
  const budget = new Budget(-trajectory.carried[currency], amountOf)
  const asked = askedIn(trajectory)
  let least = trajectory.carried[currency]
  for (const [index, each] of asked.entries()) {
    const { payment } = each
    const before = -budget.leftAt(payment.beganMs)
    const room = budget.roomAfter(payment, nextOwn(asked, index))
    // Before the calls of a reply a run looks at what is spent: dollars that are used up to the last one end it.
    const more = currency === 'nanos' && isAnswered(each, trajectory) ? 1 : 0
    const spent = -budget.unspent + amountOf(payment) + more
    const reserved = before + Math.max(amountOf(payment), neededFor(payment, amountOf) + room)
    // What is not known of others under way is left out.
    least = Math.max(least, spent, Number.isNaN(reserved) ? 0 : reserved)
    budget.ask(payment)
  }
  return least
}

/** What must be left for the reply not to be cut. */
function neededFor(payment: PastPayment, amountOf: (of: Pick<PastPayment, 'nanos' | 'tokens'>) => number): number {
  const { bounds, outputTokens, isAtWorst } = payment
  if (bounds === null) return amountOf(payment)
  const [least, most] = [amountOf(bounds.least), amountOf(bounds.most)]
  const { usefulTokens, capTokens } = bounds
  if (isAtWorst) return Math.min(most, Math.max(least, amountOf(payment)))
  const more = Math.max(0, outputTokens - usefulTokens)
  if (more === 0 || capTokens === usefulTokens) return least
  return Math.min(most, least + Math.ceil((more * (most - least)) / (capTokens - usefulTokens)))
}
