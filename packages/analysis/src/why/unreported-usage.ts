import { isJsonObject } from '@halting/core/adapters'
import { recordedWork } from '../account/recorded-work.ts'
import type { StepRecord } from '@halting/core/steps'
import { counted, many, moneyAtMost } from '../words/figures.ts'

/** Attempts at models whose usage was never reported. */
export interface UnreportedUsage {
  /** Attempts without a reported usage. */
  readonly attempts: number
  /** Attempts that have a reply: the service reported no usage. */
  readonly unreported: number
  /** The most tokens that they may have used. */
  readonly tokens: number
  /** The most US dollars that they may have cost. */
  readonly usd: number
  /** The part of the tokens that the run was charged; open requests are not charged yet. */
  readonly chargedTokens: number
}

/** Sums up the attempts of a run whose usage no service reported. */
export function unreportedUsageIn(records: readonly StepRecord[]): UnreportedUsage {
  const requests = mayHaveAny(records) ? recordedWork(records).requests.filter(({ isAtWorst }) => isAtWorst) : []
  const sum = (figures: readonly number[]): number => figures.reduce((total, figure) => total + figure, 0)
  return {
    attempts: requests.length,
    unreported: requests.filter(({ outcome: came }) => came === 'answered').length,
    tokens: sum(requests.map(({ tokens }) => tokens)),
    usd: sum(requests.map(({ nanos }) => nanos)) / 1e9,
    chargedTokens: sum(requests.map(({ outcome: came, tokens }) => (came === 'open' ? 0 : tokens))),
  }
}

/** Most runs have none: this is checked without reading all requests. */
function mayHaveAny(records: readonly StepRecord[]): boolean {
  const open = new Set<string>()
  for (const record of records) {
    if (record.type === 'intent') open.add(record.key)
    if (record.type !== 'result') continue
    open.delete(record.key)
    const charge = isJsonObject(record.value) ? record.value['charge'] : undefined
    if (isJsonObject(charge) && charge['known'] === false) return true
  }
  return open.size > 0
}

/** The figures in a sentence; '' for none. */
export function unreportedUsageText({
  attempts,
  unreported,
  tokens,
  usd,
}: Omit<UnreportedUsage, 'chargedTokens'>): string {
  if (attempts === 0) return ''
  const bound = `up to ${counted(tokens)} tokens${usd > 0 ? ` and ${moneyAtMost(usd)}` : ''} more`
  const broken = attempts - unreported
  const replies = unreported === 1 ? 'one reply' : `${counted(unreported)} replies`
  if (broken === 0)
    return unreported === 1
      ? `The service reported no usage for ${replies}. Its cost is unknown: ${bound}.`
      : `The service reported no usage for ${replies}. Their cost is unknown: ${bound}.`
  const cut =
    broken === 1
      ? 'One model request failed or is still running'
      : `${many(broken, 'model request')} failed or are still running`
  if (unreported === 0) return `${cut}. ${broken === 1 ? 'Its' : 'Their'} cost is unknown: ${bound}.`
  return `${cut}, and the service reported no usage for ${replies}. Their cost is unknown: ${bound}.`
}
