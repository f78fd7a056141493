import { money, moneyAtMost } from './figures.ts'

/** `$0.31`: two decimals for reading at a glance, more if two would show zero. */
export function dollars(usd: number): string {
  return usd > 0 && usd < 0.01 ? money(usd) : `$${usd.toFixed(2)}`
}

/** `$0.31`, with the upper bound if the usage of some attempts was never reported: `$0.31, up to $0.40`. */
export function dollarsAndMore(usd: number, unknownUsd: number): string {
  return unknownUsd > 0 ? `${dollars(usd)}, up to ${dollarsAtMost(usd + unknownUsd)}` : dollars(usd)
}

/** Formats like `dollars`, but rounds up, for an amount that was not exceeded. */
export function dollarsAtMost(usd: number): string {
  return usd > 0 && usd < 0.01 ? moneyAtMost(usd) : dollars(Math.ceil(usd * 100 - 1e-6) / 100)
}
