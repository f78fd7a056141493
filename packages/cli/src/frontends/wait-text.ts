import { dollars } from '../io/dollars.ts'
import { many, oneLine, rounded } from '../io/figures.ts'

/** `waits for $2.10 reserved by 3 requests`; of a standing budget `waits for $2.10 of $20 a day reserved by 3 requests` */
export function waitText({
  reservedUsd,
  reservedTokens,
  holders,
  budget,
}: {
  readonly reservedUsd: number
  readonly reservedTokens: number
  readonly holders: number
  readonly budget?: string | undefined
}): string {
  const what = reservedUsd > 0 ? dollars(reservedUsd) : `${rounded(reservedTokens)} tokens`
  const of = budget === undefined ? '' : ` of ${oneLine(budget, 40)}`
  return `waits for ${what}${of} reserved by ${many(holders, 'request')}`
}
