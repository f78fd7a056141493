import { upperBoundOfMessages, noProgressNudge } from '@halting/core/steps'
import type { PastPayment, PastTurn } from './trajectory.ts'

type Amount = Pick<PastPayment, 'nanos' | 'tokens'>

/** The most tokens of the message that tells the model that it goes in circles. */
const nudgeTokens = upperBoundOfMessages([{ role: 'user', content: noProgressNudge }], {})

/**
 * The same turns where the model is told before one of them that it goes in circles, which on record it was not. Requests may come to so much more, until
 * a service has counted the message with the rest.
 */
export function withNudge(turns: readonly PastTurn[], lap: number): readonly PastTurn[] {
  let isCounted = false
  return turns.map((turn, index) => {
    if (index < lap || isCounted) return turn
    const payments = turn.payments.map((payment) => {
      if (isCounted || payment.of !== 'run') return payment
      isCounted = !payment.isAtWorst && payment.tokens > 0
      return withLongerInput(payment)
    })
    return { ...turn, payments }
  })
}

/** Input costs the same for each token, as the reply does. */
function withLongerInput(payment: PastPayment): PastPayment {
  const { bounds, isAtWorst } = payment
  if (bounds === null) return payment
  const { least, most, usefulTokens, capTokens } = bounds
  const replyNanos = capTokens === usefulTokens ? 0 : (most.nanos - least.nanos) / (capTokens - usefulTokens)
  // Where replies have one length the record does not tell their price from that of the input.
  const [nanos, tokens] =
    replyNanos === 0
      ? [least.nanos, least.tokens]
      : [least.nanos - usefulTokens * replyNanos, least.tokens - usefulTokens]
  const moreNanos = tokens > 0 ? (nudgeTokens * nanos) / tokens : 0
  const longer = (amount: Amount): Amount => {
    return { tokens: amount.tokens + nudgeTokens, nanos: Math.ceil(amount.nanos + moreNanos) }
  }
  return {
    ...payment,
    // What nobody told is charged at worst case.
    ...(isAtWorst && longer(payment)),
    bounds: { ...bounds, least: longer(least), most: longer(most) },
  }
}
