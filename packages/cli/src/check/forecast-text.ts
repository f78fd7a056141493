import type { Forecast } from '@halting/core/adapters'
import { usdFlag } from '../headless/limit-advice.ts'
import { counted, many, moneyAtMost } from '../io/figures.ts'

/** Limits that a forecast counts with, as the person gave them. */
export interface GivenLimits {
  readonly maxBudgetUsd?: number | undefined
  readonly maxRunUsd?: number | undefined
  readonly maxTokens?: number | undefined
  readonly maxTurns?: number | undefined
}

/** What a run is likely to come to, in lines, by flag; and what is missing where none can begin. */
export function forecastText(forecast: Forecast, given: GivenLimits): readonly string[] {
  return forecast.canBegin ? likelyLines(forecast) : missingLines(forecast, given)
}

function missingLines({ model, first }: Forecast, { maxBudgetUsd, maxTokens }: GivenLimits): readonly string[] {
  const lines: string[] = []
  if (maxBudgetUsd !== undefined && first.usd !== null && first.usd > maxBudgetUsd) {
    lines.push(
      `At --max-budget-usd ${maxBudgetUsd} ${model} cannot begin; it needs ${moneyAtMost(first.usd)}.`,
      `Give --max-budget-usd ${usdFlag(first.usd)} or more, or name a cheaper model with --model.`,
    )
  }
  if (maxTokens !== undefined && first.tokens > maxTokens) {
    lines.push(
      `At --max-tokens ${maxTokens} ${model} cannot begin; it needs ${counted(first.tokens)} tokens.`,
      `Give --max-tokens ${first.tokens} or more.`,
    )
  }
  return lines
}

const flags = {
  maxBudgetUsd: '--max-budget-usd',
  maxRunUsd: '--max-run-usd',
  maxTokens: '--max-tokens',
  maxTurns: '--max-turns',
} as const satisfies Record<keyof GivenLimits, string>

function likelyLines({ likely, assumes }: Forecast): readonly string[] {
  const { turns, usd, tokens, endsBy } = likely
  const cost = usd === null ? '' : ` and about ${moneyAtMost(usd)}`
  const end = endsBy === null ? `no limit ends it within ${many(turns, 'turn')}` : `${flags[endsBy]} ends it`
  return [
    `A long run is likely to have about ${many(turns, 'turn')}, ${counted(tokens)} tokens${cost}: ${end}.`,
    `Estimated with ${counted(assumes.writtenTokens)} tokens written and ${counted(assumes.readTokens)} read in a turn, and a cache that keeps the rest.`,
  ]
}
