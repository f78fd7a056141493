import { recordedWork, type StepRecord } from '@halting/core/steps'
import { counted, many, money } from '../io/figures.ts'

/** Attempts at models of which nobody told what they came to. */
export interface Untold {
  readonly attempts: number
  /** What they may have come to. */
  readonly tokens: number
  readonly usd: number
  /** The part of the tokens that the run was charged; those of a request under way are not. */
  readonly chargedTokens: number
}

export function untoldIn(records: readonly StepRecord[]): Untold {
  const requests = recordedWork(records).requests.filter(({ isAtWorst }) => isAtWorst)
  const sum = (figures: readonly number[]): number => figures.reduce((total, figure) => total + figure, 0)
  return {
    attempts: requests.length,
    tokens: sum(requests.map(({ tokens }) => tokens)),
    usd: sum(requests.map(({ nanos }) => nanos)) / 1e9,
    chargedTokens: sum(requests.map(({ came, tokens }) => (came === 'open' ? 0 : tokens))),
  }
}

/** In a sentence; '' where each told it. */
export function untoldText({ attempts, tokens, usd }: Omit<Untold, 'chargedTokens'>): string {
  if (attempts === 0) return ''
  const most = `${counted(tokens)} tokens${usd > 0 ? ` and ${money(usd)}` : ''}`
  return attempts === 1
    ? `One attempt at a model broke off or is under way. Its cost is not known: up to ${most} more.`
    : `${many(attempts, 'attempt')} at a model broke off or are under way. Their cost is not known: up to ${most} more.`
}
