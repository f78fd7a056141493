import type { Terminal } from '@halting/core'
import type { Flags } from '../flags/flags.ts'

/** What would have made the next request fit, by its flag; undefined where the run did not end before a request. */
export function limitAdvice(
  { reason, signal, summary }: Terminal,
  { model, wrapUp }: Pick<Flags, 'model' | 'wrapUp'>,
): string | undefined {
  const { limitNeededUsd, limitNeeded } = signal.context
  const isFirst = summary.requests === 0
  const lastAnswer = isFirst || wrapUp === true ? '' : ', or add --wrap-up for a last answer'
  if (reason === 'max_budget_usd' && typeof limitNeededUsd === 'number') {
    const cheaper = isFirst ? `, or name a cheaper model${model === undefined ? ' with --model' : ''}` : ''
    return `Raise --max-budget-usd to ${usdFlag(limitNeededUsd)} or more${cheaper}${lastAnswer}.`
  }
  if (reason !== 'token_limit' || typeof limitNeeded !== 'number') return undefined
  return `Raise --max-tokens to ${limitNeeded} or more${lastAnswer}.`
}

/** As it is typed behind the flag, rounded up to a cent. */
export function usdFlag(usd: number): string {
  // A little less: 0.1 is not quite a tenth.
  return String(Math.ceil(usd * 100 - 1e-6) / 100)
}
