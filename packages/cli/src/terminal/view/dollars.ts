import { money, moneyAtMost } from '../../io/figures.ts'

/** `$0.31`: what a person reads at a glance has two decimals, and four where two would say nothing. */
export function dollars(usd: number): string {
  return usd > 0 && usd < 0.01 ? money(usd) : `$${usd.toFixed(2)}`
}

/** The same, rounded up: for what was not exceeded. */
export function dollarsAtMost(usd: number): string {
  return usd > 0 && usd < 0.01 ? moneyAtMost(usd) : dollars(Math.ceil(usd * 100 - 1e-6) / 100)
}
