import { dollars } from '../../io/dollars.ts'
import { many, rounded } from '../../io/figures.ts'

/** `waits for $2.10 reserved by 3 requests` */
export function waitText({
  reservedUsd,
  reservedTokens,
  holders,
}: {
  readonly reservedUsd: number
  readonly reservedTokens: number
  readonly holders: number
}): string {
  const what = reservedUsd > 0 ? dollars(reservedUsd) : `${rounded(reservedTokens)} tokens`
  return `waits for ${what} reserved by ${many(holders, 'request')}`
}
