import { money, moneyAtMost } from './figures.ts'

/** `$0.31`: what a person reads at a glance has two decimals, and four where two would say nothing. */
export function dollars(usd: number): string {
  return usd > 0 && usd < 0.01 ? money(usd) : `$${usd.toFixed(2)}`
}

/** `$0.31`, and what it may come to with attempts of which nobody told what they cost: `$0.31, up to $0.40`. */
export function dollarsAndMore(usd: number, unknownUsd: number): string {
  return unknownUsd > 0 ? `${dollars(usd)}, up to ${dollarsAtMost(usd + unknownUsd)}` : dollars(usd)
}

/** The same, rounded up: for what was not exceeded. */
export function dollarsAtMost(usd: number): string {
  return usd > 0 && usd < 0.01 ? moneyAtMost(usd) : dollars(Math.ceil(usd * 100 - 1e-6) / 100)
}
