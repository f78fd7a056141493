import type { SessionUpdate } from '@agentclientprotocol/sdk'
import type { SessionSnapshot } from '@halting/core/session'

/** What a client gets with the meter of its window: how far the run is from its limits (spec R-ACP-9). */
interface LimitsMeta {
  readonly turnsLeft: number | null
  readonly budgetUsd: number | null
  /** Settled, and reserved for what goes on; subagents included. */
  readonly committedUsd: number
  /** The part of it that is only reserved, and the requests that wait for it. */
  readonly reservedUsd: number
  readonly waitingRequests: number
  readonly timeLeftMs: number | null
  readonly tokensLeft: number | null
  /** US dollars of one run. */
  readonly runUsd: number | null
  readonly toolCallsLeft: number | null
  readonly nextStop: SessionSnapshot['nextStop']
}

type Shown = Pick<SessionSnapshot, 'figures' | 'limits' | 'nextStop'>

function limitsMeta({ figures, limits, nextStop }: Shown): LimitsMeta {
  return {
    turnsLeft: limits.maxTurns === null ? null : Math.max(0, limits.maxTurns - figures.turns),
    budgetUsd: limits.maxBudgetUsd,
    committedUsd: figures.settledUsd + figures.reservedUsd,
    reservedUsd: figures.reservedUsd,
    waitingRequests: figures.waitingRequests,
    timeLeftMs: figures.leftMs,
    tokensLeft: figures.leftTokens,
    runUsd: limits.maxRunUsd,
    toolCallsLeft: limits.maxToolCalls === null ? null : Math.max(0, limits.maxToolCalls - figures.toolCalls),
    nextStop,
  }
}

/** After every settled request. A window without an end is told as the largest number there is: a meter stays empty. */
export function usageUpdate(snapshot: Shown): SessionUpdate {
  const { contextTokens, contextWindow, sessionUsd } = snapshot.figures
  return {
    sessionUpdate: 'usage_update',
    used: Math.max(0, Math.round(contextTokens)),
    size: contextWindow ?? Number.MAX_SAFE_INTEGER,
    cost: { amount: sessionUsd, currency: 'USD' },
    _meta: { 'halting/limits': limitsMeta(snapshot) },
  }
}
