import type { Forecast, LikelyEnd, LikelyFigures } from '@halting/core/adapters'
import { flagOf, usdFlag } from '../headless/limit-advice.ts'
import { counted, many, money, moneyAtMost, rounded } from '../io/figures.ts'

/** The limits of the run, from flags, settings or defaults. */
export interface FlagLimits {
  readonly maxBudgetUsd?: number | undefined
  readonly maxRunUsd?: number | undefined
  readonly maxTokens?: number | undefined
}

/** The likely figures of a run; if no run can start, the limits that are too low (spec R-LIM-65). */
export function forecastText(forecast: Forecast, limits: FlagLimits): readonly string[] {
  return forecast.canBegin ? likelyLines(forecast) : missingLines(forecast, limits)
}

function missingLines({ model, first }: Forecast, limits: FlagLimits): readonly string[] {
  const { usd, tokens } = first
  const lines: string[] = []
  for (const name of ['maxBudgetUsd', 'maxRunUsd'] as const) {
    const limit = limits[name]
    if (limit === undefined || usd === null || usd <= limit) continue
    const flag = flagOf(name)
    lines.push(
      `${model} cannot start with ${flag} ${limit}: its first request needs ${moneyAtMost(usd)}.`,
      `Set ${flag} ${usdFlag(usd)} or more, or choose a cheaper model with --model.`,
    )
  }
  const { maxTokens } = limits
  if (maxTokens !== undefined && tokens > maxTokens) {
    lines.push(
      `${model} cannot start with --max-tokens ${maxTokens}: its first request needs ${counted(tokens)} tokens.`,
      `Set --max-tokens ${tokens} or more.`,
    )
  }
  return lines
}

/** Texts for the limits that a forecast names as the likely end of a run. */
const ends = {
  maxBudgetUsd: `${flagOf('maxBudgetUsd')} ends it`,
  maxRunUsd: `${flagOf('maxRunUsd')} ends it`,
  maxTokens: `${flagOf('maxTotalTokens')} ends it`,
  maxTurns: `${flagOf('maxTurns')} ends it`,
  contextWindow: 'its context window is full',
} as const satisfies Record<LikelyEnd, string>

function likelyLines({ model, likely, shorter, assumes }: Forecast): readonly string[] {
  const { turns, usd, tokens, endsBy } = likely
  const verb = usd === null ? 'uses' : 'costs'
  const runs = shorter.map((size, index) =>
    index === 0
      ? `A run of ${many(size.turns, 'turn')} ${verb} about ${likelyFigure(size)}`
      : `one of ${many(size.turns, 'turn')} about ${likelyFigure(size)}`,
  )
  const figures = [`about ${many(turns, 'turn')}`, `${rounded(tokens)} tokens`, ...(usd === null ? [] : [cents(usd)])]
  const end = endsBy === null ? 'no limit ends it earlier' : `then ${ends[endsBy]}`
  return [
    `Likely with ${model}:`,
    ...(runs.length === 0 ? [] : [`  ${runs.join(', ')}.`]),
    `  A long run has ${figures.slice(0, -1).join(', ')} and ${figures.at(-1)}; ${end}.`,
    `  A turn is one request and its tool calls, estimated at ${counted(assumes.writtenTokens)} output and ${counted(assumes.readTokens)} tool result tokens.`,
  ]
}

function likelyFigure({ usd, tokens }: LikelyFigures): string {
  return usd === null ? `${rounded(tokens)} tokens` : cents(usd)
}

/** Rounds an estimate below one cent up to one cent. */
function cents(usd: number): string {
  if (usd >= 1) return money(usd)
  return usd === 0 ? '$0' : `$${Math.max(0.01, usd).toFixed(2)}`
}
